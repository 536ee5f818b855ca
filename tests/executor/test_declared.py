"""Phases without steps that a training declares, and lines that only look so."""

from __future__ import annotations

import pytest

from muster.domain.spec import ProgressSpec
from muster.executor.core.declared import Declared
from muster.executor.core.lines import Reader
from muster.executor.core.progress import Summary, summarise

C, E, L, OVER = Declared.CHECKPOINT, Declared.EVALUATION, Declared.LOADING, Declared.OVER

LINES = [
    ("saving checkpoint at iteration     500 to /ckpt in torch_dist format", C),  # Megatron
    ("[2031-04-02 10:03:11] [INFO] [Torch] Saving out/global_step400/x.pt...", C),  # DeepSpeed
    ("INFO: Saving model checkpoint to /out", C),
    ("checkpointing started", C),
    ("***** Running Evaluation *****", E),  # HF Trainer
    ("2031-04-02 10:03:11 - trainer - running evaluation on 5 000 samples", E),
    ("Evaluation started", E),
    ("Evaluating iter 3/10", E),  # Megatron
    ("Validation DataLoader 0:  10%|#         | 1/10 [00:01<00:09]", E),  # Lightning
    ("Evaluating:  33%|###3      | 1/3 [00:01<00:02]", E),
    ("[rank0] loading checkpoint from /ckpt", L),
    ("Loading dataset from /data", L),
    ("evaluation finished in 301 s", OVER),
    ("{'eval_loss': 1.2, 'eval_runtime': 3}", OVER),
    (" validation loss at iteration 500 | lm loss value: 2.3", OVER),
]

NEAR_MISSES = [
    "PULSE still alive",
    "step 100 loss 0.3 loading data 0.01s",
    "saving checkpoint failed: no space left",
    "will skip the evaluation",
    "evaluate every 500 steps",
    "download of the dataset",
    "valid: true",
    "there was an error while loading data in the middle of a sentence that is long enough to be"
    " none: loading dataset",
]


@pytest.mark.parametrize(("line", "declared"), LINES)
def test_a_line_declares_a_phase(line: str, declared: Declared) -> None:
    assert Reader().declared(line) is declared


@pytest.mark.parametrize("line", NEAR_MISSES)
def test_a_line_that_only_looks_so_declares_none(line: str) -> None:
    assert summarise([line], Reader()).declared is None


def test_a_job_has_its_own_words() -> None:
    own = ProgressSpec(saving=("snap # begins",), evaluating=("exam",), loading=("fetch",))
    reader = Reader(own.model_copy(update={"over": ("bell rings",)}))
    lines = ("snap 12 begins", "an EXAM", "fetch it", "the bell rings", "Evaluation started")
    assert [reader.declared(line) for line in lines] == [C, E, L, OVER, E]


def told(*lines: str) -> Summary:
    return summarise(lines, Reader())


@pytest.mark.parametrize(
    ("lines", "declared"),
    [
        (("step=5", "Evaluation started"), E),
        (("step=5", "Evaluation started", "PULSE", "Evaluation started"), E),
        (("step=5", "Evaluation started", "step=5"), E),  # the same step again is no news
        (("step=5", "Evaluation started", "step=6"), None),
        (("step=5", "Evaluation started", " 10%|#  | 3/20 [00:01<00:02]"), E),  # not its counter
        (("step=5", "Evaluation started", "evaluation done"), None),
        (("Saving checkpoint", "checkpoint saved: step=5"), None),
        (("Evaluation started", "checkpoint saved: step=5"), E),
        (("Loading dataset", "checkpoint loaded: step=5"), None),
        (("Loading dataset", "Evaluation started"), E),
    ],
)
def test_a_phase_lasts_until_its_end_or_a_new_step(
    lines: tuple[str, ...], declared: Declared | None
) -> None:
    assert told(*lines).declared is declared


def test_a_phase_that_is_declared_over_and_over_began_once() -> None:
    assert told(*["Evaluation started"] * 9).declarations == 1
    assert told("Evaluation started", "evaluation done", "Evaluation started").declarations == 2
