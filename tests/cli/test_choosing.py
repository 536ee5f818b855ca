"""Abbreviations mean one job, or say what they could mean."""

from __future__ import annotations

import pytest

from muster.cli.choosing import choose
from muster.cli.errors import CliError
from muster.domain.state import JobState
from tests.support.lives import Life, spec


def _job(job: str, name: str = "train") -> JobState:
    return Life(spec(name=name), name=job).queued().state


JOBS = [_job("j1aa"), _job("j1ab", "other"), _job("j2cc", "other"), _job("j1a", "j2"), _job("j2")]


@pytest.mark.parametrize(
    ("text", "job"),
    [
        ("j1aa", "j1aa"),
        ("j1a", "j1a"),
        ("j2c", "j2cc"),
        ("acme/j1ab", "j1ab"),
        ("j2", "j2"),
        ("j1ab", "j1ab"),
    ],
)
def test_an_id_comes_before_a_name_and_a_name_before_a_start(text: str, job: str) -> None:
    assert choose(JOBS, text).job == job


def test_a_name_is_enough_when_one_job_has_it() -> None:
    assert choose(JOBS[:2], "other").job == "j1ab"
    assert choose(JOBS[:2], "acme/other").job == "j1ab"


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("other", "many_jobs", "j1ab (queued)"),
        ("j1", "many_jobs", "3 jobs"),
        ("nothing", "no_job", "no job nothing"),
        ("beta/other", "no_job", "no job beta/other"),
    ],
)
def test_what_means_several_or_none_is_said(text: str, code: str, words: str) -> None:
    with pytest.raises(CliError) as caught:
        choose(JOBS, text)
    assert caught.value.code == code
    assert words in str(caught.value)


def test_only_some_of_many_are_named() -> None:
    with pytest.raises(CliError, match="9 jobs") as caught:
        choose([_job(f"j{n}") for n in range(9)], "train")
    assert str(caught.value).endswith("…")
