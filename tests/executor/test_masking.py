"""What leaves the executor with a line of output is no secret."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from muster.domain.spec import EnvVar, JobSpec, ResourceSpec, SecretRef
from muster.executor.backends.local.logs import LogFile
from muster.executor.core.masking import is_secret_name, masked
from muster.executor.launches import Launches
from muster.executor.outputs import MARGIN, tail

KEY = "a1B2c3D4e5F6g7H8i9J0k1"

SECRETS = [
    (f"token={KEY} next", "token=*** next"),
    (f'{{"api_key": "{KEY}", "lr": 1}}', '{"api_key": "***", "lr": 1}'),
    ("password: hunter2", "password: ***"),
    (f"AWS_SECRET_ACCESS_KEY={KEY}", "AWS_SECRET_ACCESS_KEY=***"),
    (f"Authorization: Bearer {KEY}==", "Authorization: Bearer ***"),
    (f"using hf_{KEY} for the hub", "using *** for the hub"),
    (f"using sk-{KEY}", "using ***"),
    ("key AKIAIOSFODNN7EXAMPLE", "key ***"),
    ("https://ann:pw@host/x", "https://***@host/x"),
    ("-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----\nx",
     "-----BEGIN RSA PRIVATE KEY-----***\nx"),
]  # fmt: skip

HARMLESS = [
    "KeyError: 'token'",
    "num_tokens=512 tokenizer: bert",
    "secret sauce, a token of love",
    "RuntimeError: CUDA error: out of memory",
    "commit 3f786850e387550fdab836ed7e6dc881de23001b",
    "step=10 loss=1.5 //share/data",
    "basic block 12",
]


@pytest.mark.parametrize(("text", "shown"), SECRETS)
def test_what_looks_like_a_secret_is_masked(text: str, shown: str) -> None:
    assert masked(text) == shown


@pytest.mark.parametrize("text", HARMLESS)
def test_what_looks_like_none_stays(text: str) -> None:
    assert masked(text) == text


@pytest.mark.parametrize(
    "piece",
    ["passw", "eyJ", "-eyJaaaaaaaa.", "token ", "credential", "//", "//a", "basic ", "sk-", "=",
     "\"'", "-----BEGIN PRIVATE KEY-----", "token=", " ", "\n", "secret" + " " * 50],
)  # fmt: skip
def test_no_text_takes_long(piece: str) -> None:
    text = (piece * 70_000)[:70_000]
    began = time.perf_counter()
    masked(text, ("aaaa", "short"))
    assert time.perf_counter() - began < 1.0


def test_a_jobs_own_values_are_masked_wherever_they_stand() -> None:
    text = "login(xyzzy42)\nabxyzzy42cd 7 77\nfirst line\nsecond"
    own = ("xyzzy42", "7", "first line\nother line\n}", "", "  ")
    assert masked(text, own) == "login(***)\nab***cd *** 77\n***\nsecond"


@pytest.mark.parametrize("name", ["HF_TOKEN", "WANDB_API_KEY", "db_password", "TOKEN", "DB_PWD"])
def test_some_names_say_that_the_value_is_a_secret(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize("name", ["TOKENIZERS_PARALLELISM", "MAX_TOKENS", "KEY", "MONKEY"])
def test_other_names_do_not(name: str) -> None:
    assert not is_secret_name(name)


def test_a_job_has_the_secrets_that_it_refers_to_and_those_that_are_named_so(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "secrets" / "hub"
    folder.mkdir(parents=True)
    (folder / "token").write_text("s3cret-value\n")
    spec = JobSpec(
        name="train",
        image="i",
        command=("true",),
        resource=ResourceSpec(),
        environment=(
            EnvVar(name="HUB", secret_ref=SecretRef(secret="hub", key="token")),
            EnvVar(name="GONE", secret_ref=SecretRef(secret="hub", key="other")),
            EnvVar(name="MY_TOKEN", value="plain-value"),
            EnvVar(name="TOKENIZERS_PARALLELISM", value="false"),
        ),
    )
    assert Launches(tmp_path).secrets(spec) == ("s3cret-value", "plain-value")


def of(tmp_path: Path, text: str) -> LogFile:
    path = tmp_path / "worker.log"
    path.write_text(text, encoding="utf-8")
    return LogFile(path)


def test_a_tail_begins_with_a_whole_line(tmp_path: Path) -> None:
    output = of(tmp_path, "one\ntwo\nthree\n")
    assert tail(output, 100) == "one\ntwo\nthree\n"
    assert tail(output, 14) == "one\ntwo\nthree\n"
    assert tail(output, 13) == "two\nthree\n"
    assert tail(output, 0) == ""
    assert tail(LogFile(tmp_path / "none"), 100) == ""


def test_a_tail_of_one_long_line_is_its_end(tmp_path: Path) -> None:
    output = of(tmp_path, "x" * 100_000 + "end")
    assert tail(output, 10) == "xxxxxxxend"


def test_a_secret_that_the_cut_runs_through_is_masked(tmp_path: Path) -> None:
    secret = "s" * (MARGIN // 2) + "END"
    output = of(tmp_path, "x" * 50_000 + "\n" + secret + "\nlast line\n")
    shown = tail(output, 30, (secret,))
    assert shown == "***\nlast line\n"


class Counting(LogFile):
    """Counts the bytes that are read."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.bytes = 0

    def read(self, offset: int, most: int) -> bytes:
        data = super().read(offset, most)
        self.bytes += len(data)
        return data


def test_a_big_output_costs_no_more_than_its_tail(tmp_path: Path) -> None:
    path = tmp_path / "big.log"
    with path.open("wb") as file:
        file.truncate(10 * 2**30)  # a hole: no bytes on the disk
        file.seek(0, 2)
        file.write(b"\nlast\n")
    output = Counting(path)
    assert tail(output, 65_536) == "last\n"
    assert output.bytes <= 65_536 + MARGIN
