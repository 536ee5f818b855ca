"""Durations, instants and labels, as people write and read them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
import typer

from muster.cli.words import duration, labels, plain, since, span

NOW = datetime(2030, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "seconds"), [("30s", 30), ("5m", 300), ("2h", 7200), ("1.5d", 129600), (" 1 s ", 1)]
)
def test_durations_are_read(text: str, seconds: float) -> None:
    assert duration(text) == seconds


@pytest.mark.parametrize("text", ["", "30", "s", "-5s", "5 minutes", "1e3s", "١s"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(typer.BadParameter):
        duration(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0.0s"),
        (0.44, "0.4s"),
        (9.99, "10.0s"),
        (42.4, "42s"),
        (59.6, "1m00s"),
        (200, "3m20s"),
        (3599.7, "1h00m"),
        (18720, "5h12m"),
        (187200, "2d04h"),
        (-3, "-3.0s"),
    ],
)
def test_spans_are_short(seconds: float, text: str) -> None:
    assert span(seconds) == text


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        (None, None),
        ("10m", NOW - timedelta(minutes=10)),
        ("2029-12-31T23:00:00+00:00", NOW - timedelta(hours=1)),
        ("2030-01-01T08:00:00+08:00", NOW),
    ],
)
def test_since_when(text: str | None, instant: datetime | None) -> None:
    assert since(text, NOW) == instant


def test_since_never_is_refused() -> None:
    with pytest.raises(typer.BadParameter):
        since("yesterday", NOW)


def test_labels_are_pairs() -> None:
    assert labels(["team=nlp", "a=b=c"]) == {"team": "nlp", "a": "b=c"}
    for text in ("team", "=nlp"):
        with pytest.raises(typer.BadParameter):
            labels([text])


def test_nothing_that_is_printed_steers_the_terminal() -> None:
    assert plain("a\x1b[31mb\x07\u202ec\n\td 中") == "a\ufffd[31mb\ufffd\ufffdc\ufffd\td 中"
