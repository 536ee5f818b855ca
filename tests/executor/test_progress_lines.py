"""Which lines tell of progress, framework by framework, and which only look as if they did."""

from __future__ import annotations

import time

import pytest

from muster.domain.spec import ProgressSpec
from muster.executor.core.lines import LINE, SHOWN, Kind, Reader, Told, shown

LOADED, SAVED, STEP = Kind.LOADED, Kind.SAVED, Kind.STEP

TELLING: list[tuple[str, Told]] = [
    # scripts of one's own, in the form of the examples
    ("checkpoint loaded: step=80 path=/data/ckpt/80", Told(LOADED, 80)),
    ("checkpoint saved: step=120 path=/data/ckpt/120", Told(SAVED, 120)),
    ("step=85 loss=0.412 lr=0.0095 samples/s=4100", Told(STEP, 85, "steps")),
    ("\x1b[32mINFO\x1b[0m step: 85 | loss: 0.412", Told(STEP, 85, "steps")),
    ("iter 2300: loss 2.4311, time 41.20ms, mfu 31.02%", Told(STEP, 2300, "steps")),
    ('{"global_step": 4210, "loss": 1.93}', Told(STEP, 4210, "steps")),
    ("Resuming training from /ckpt/last.pt at step 4200", Told(LOADED, 4200)),
    # scripts after PyTorch's examples
    ("=> loaded checkpoint 'run/checkpoint.pth.tar' (epoch 12)", Told(LOADED, None)),
    ("=> loaded checkpoint 'run/step_4200.pt' (epoch 12)", Told(LOADED, 4200)),
    ("Epoch: [3][ 100/5005]\tTime  0.21 ( 0.25)\tLoss 6.1e+00", Told(STEP, 15115, "epochs")),
    ("Epoch [2/10], Step [300/600], Loss: 0.1893", Told(STEP, 1500, "epochs")),
    # Lightning
    (
        "Restored all states from the checkpoint at /ckpt/epoch=3-step=4000.ckpt",
        Told(LOADED, 4000),
    ),
    ("Restored all states from the checkpoint file at /ckpt/last.ckpt", Told(LOADED, None)),
    (
        "Epoch 3, global step 4000: 'val_loss' reached 0.21 (best 0.21), saving model to"
        " '/ckpt/epoch=3-step=4000.ckpt' as top 1",
        Told(SAVED, 4000),
    ),
    ("Epoch 3:  45%|####5     | 450/1000 [00:10<00:12, 43.9it/s]", Told(STEP, 3450, "epochs")),
    # DeepSpeed
    (
        "[2031-04-02 10:01:07,412] [INFO] [torch_checkpoint_engine.py:29:load] [Torch] Loaded"
        " checkpoint from out/global_step400/mp_rank_00_model_states.pt.",
        Told(LOADED, 400),
    ),
    (
        "[INFO] [torch_checkpoint_engine.py:33:commit] [Torch] Checkpoint global_step400 is ready"
        " now!",
        Told(SAVED, 400),
    ),
    (
        "[INFO] [logging.py:96:log_dist] [Rank 0] step=410, skipped=3, lr=[1e-05]",
        Told(STEP, 410, "steps"),
    ),
    ("epoch=0/micro_step=80/global_step=40, RunningAvgSamplesPerSec=9.1", Told(STEP, 40, "steps")),
    # Megatron
    (
        "  successfully loaded checkpoint from /ckpt [ t 1/2, p 1/1 ] at iteration 1200",
        Told(LOADED, 1200),
    ),
    ("  successfully saved checkpoint from iteration    1300 to /ckpt", Told(SAVED, 1300)),
    ("  successfully saved checkpoint at iteration    1300 to /ckpt", Told(SAVED, 1300)),
    (
        " [2031-04-02 10:03:11] iteration     1210/  500000 | consumed samples:       309760 |"
        " elapsed time per iteration (ms): 812.1 |",
        Told(STEP, 1210, "steps"),
    ),
    # HF Trainer
    ("  Continuing training from global step 500", Told(LOADED, 500)),
    ("Saving model checkpoint to out/run/checkpoint-1000", Told(SAVED, 1000)),
    (" 10%|#         | 501/5000 [00:07<31:10,  2.41it/s]", Told(STEP, 501, "bar:5000")),
    ("100%|##########| 5000/5000 [40:07<00:00]", Told(STEP, 5000, "bar:5000", over=True)),
    ("{'loss': 1.31, 'learning_rate': 4e-05, 'step': 510}", Told(STEP, 510, "steps")),
]

NEAR_MISSES = [
    # a checkpoint that was looked for, wanted, or not there
    "no checkpoint loaded: step=0",
    "loading checkpoint from /ckpt/80",
    "checkpoint saving failed at 80",
    "could not load the checkpoint in /ckpt",
    "=> no checkpoint found at 'run/checkpoint.pth.tar'",
    "=> loading checkpoint 'run/checkpoint.pth.tar'",
    "Restoring states from the checkpoint path at /ckpt/epoch=3-last.ckpt",
    "Loaded model weights from the checkpoint at /ckpt/best.ckpt",
    "[INFO] [torch_checkpoint_engine.py:27:load] [Torch] Loading checkpoint from"
    " out/global_step400/mp_rank_00_model_states.pt...",
    "[INFO] [torch_checkpoint_engine.py:21:save] [Torch] Saving out/global_step400/states.pt...",
    "[WARNING] Unable to find latest file at out/latest, if trying to load latest checkpoint",
    " loading checkpoint from /ckpt at iteration_dir",
    "WARNING: could not find the metadata file /ckpt/latest_checkpointed_iteration.txt",
    "    will not load any checkpoints and will start from random",
    "saving checkpoint to /ckpt in torch_dist format",
    "loading configuration file out/checkpoint-500/config.json",
    "Loading checkpoint shards:  33%|###3      | 1/3 [00:01<00:02]",
    "Epoch 3, global_step count: 'val_loss' was not in top 1",
    # numbers that are no step
    "  Total optimization steps = 5000",
    "  Continuing training from epoch 2",
    "max_steps=5000 warmup_steps=100 save_steps=500",
    "step_time=0.05 stepsize=3",
    "stopped: after_step=120 reason=SIGTERM",
    "time per step: 35 of all",
    "step time 0.5",
    "step=1.5e3",
    "iteration 10ms",
    "Step 1: download the data",
    "Step 2: build the index",
    "writing /ckpt/epoch=3-step=4000.ckpt",
    "out/global_step400/zero_pp_rank_0",
    "  0%|          | 0/5000 [00:00<?, ?it/s]",
    "Map:  50%|#####     | 500/1000 [00:01<00:01]",
    "Downloading shards: 100%|##########| 2/2 [00:07<00:00]",
    "Validation DataLoader 0:  50%|#####     | 10/20 [00:01<00:01]",
    "Test: [ 10/196]\tTime  0.21",
    "PULSE: still alive",
    "",
]


@pytest.mark.parametrize(("line", "told"), TELLING, ids=[line[:40] for line, _ in TELLING])
def test_a_line_that_tells_something(line: str, told: Told) -> None:
    assert Reader().read(line) == told


@pytest.mark.parametrize("line", NEAR_MISSES)
def test_a_line_that_only_looks_like_it(line: str) -> None:
    assert Reader().read(line) is None


def test_the_jobs_own_lines_come_first_and_its_steps_are_the_only_ones() -> None:
    own = ProgressSpec(
        checkpoint_loaded=("warm start from *", "back at tick #"),
        checkpoint_saved=("snapshot * tick # done",),
        step=("tick # of",),
    )
    reader = Reader(own)
    assert reader.read("[a] Warm   START from /x") == Told(LOADED, None)
    assert reader.read("back at tick  300.") == Told(LOADED, 300)
    assert reader.read("snapshot 7/9 (fast) tick 310 done") == Told(SAVED, 310)
    assert reader.read("tick 311 of 900") == Told(STEP, 311, "own")
    assert reader.read("tick 311x of 900") is None
    assert reader.read("step=4 loss=1") is None
    assert reader.read("checkpoint loaded: step=80") == Told(LOADED, 80)


def test_no_line_takes_long_whatever_it_and_the_pattern_hold() -> None:
    own = ProgressSpec(step=("aaa*a*a*a*a*a*a*b#c", "x y # z"))
    reader = Reader(own)
    lines = [
        "a" * LINE,
        "x " * LINE,
        "x" + " " * LINE,
        "=> loaded checkpoint '" * 50 + "step",
        "successfully loaded checkpoint from " * 30,
        "resuming from step " * 60,
        "Epoch 1: 5%|" + "#" * LINE,
        "step=" + " " * LINE,
        "step " + "1" * LINE,
        "iteration" * 120,
        "global step 1: " * 70 + "saving",
    ]
    began = time.process_time()
    for line in lines:
        reader.read(line + "!" * 10_000_000)
    assert time.process_time() - began < 1.0


def test_what_an_event_carries_of_a_line_is_short_and_clean() -> None:
    line = (
        "\x1b[1mcheckpoint\tloaded\x00 from s3://ann:pw@host/x api_key=abc token: t1 " + "x" * 500
    )
    text = shown(line)
    assert text.startswith("checkpoint loaded from s3://***@host/x api_key=*** token: *** xxx")
    assert len(text) == SHOWN
    assert text.isprintable()
