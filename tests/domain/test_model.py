"""The bases of every value that crosses a border: moments, tokens, and types as written."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from muster.domain.errors import Conflict, MusterError, Permanent, Temporary
from muster.domain.model import Frozen, Instant, Strict, Token

INSTANT: TypeAdapter[datetime] = TypeAdapter(Instant)
TOKEN: TypeAdapter[str] = TypeAdapter(Token)


class Some(Frozen):
    number: int = 0
    share: float = 0.0


class Said(Strict):
    number: int = 0
    share: float = 0.0


@pytest.mark.parametrize(
    "text",
    ["2030-01-01T12:00:00Z", "2030-01-01T20:00:00+08:00", "2030-01-01T07:30:00-04:30"],
)
def test_a_moment_is_kept_as_utc(text: str) -> None:
    found = INSTANT.validate_python(text)
    assert found == datetime(2030, 1, 1, 12, tzinfo=UTC)
    assert found.utcoffset() == timedelta(0)


@pytest.mark.parametrize(
    "text",
    [
        "2030-01-01T12:00:00",
        "2030-01-01",
        "0001-01-01T00:00:00+12:00",
        "9999-12-31T23:59:59-12:00",
        "soon",
        "",
        None,
    ],
)
def test_what_names_no_moment_is_refused(text: object) -> None:
    with pytest.raises(ValidationError):
        INSTANT.validate_python(text)


DAY = timedelta(hours=23, minutes=59)
ZONES = st.builds(timezone, st.timedeltas(-DAY, DAY))


@given(st.datetimes(timezones=ZONES))
def test_any_time_with_a_zone_is_a_moment_or_refused(value: datetime) -> None:
    try:
        found = INSTANT.validate_python(value)
    except ValidationError:
        assert value.year in {1, 9999}
        return
    assert found == value
    assert INSTANT.validate_json(INSTANT.dump_json(found)) == found


@pytest.mark.parametrize("text", ["a", "Z", "0", "-", "_", "a" * 128, "Team-1_x"])
def test_a_token(text: str) -> None:
    assert TOKEN.validate_python(text) == text


@pytest.mark.parametrize(
    "text", ["", "a" * 129, "a.b", "a b", "a\n", "\n", "*", ">", "ä", "a/b", "a\x00", "１"]
)
def test_what_is_no_token(text: str) -> None:
    with pytest.raises(ValidationError):
        TOKEN.validate_python(text)


@pytest.mark.parametrize("model", [Some, Said])
def test_a_value_never_changes_and_has_nothing_unknown(model: type[Some | Said]) -> None:
    value = model(number=1)
    with pytest.raises(ValidationError, match="frozen"):
        value.number = 2  # type: ignore[misc]
    with pytest.raises(ValidationError, match="surprise"):
        model.model_validate({"number": 1, "surprise": 2})


@pytest.mark.parametrize("model", [Some, Said])
@pytest.mark.parametrize("text", ["Infinity", "-Infinity", "NaN", "1e999"])
def test_a_number_that_json_cannot_tell_is_refused(model: type[Some | Said], text: str) -> None:
    with pytest.raises(ValidationError, match="finite"):
        model.model_validate_json(f'{{"share": {text}}}')


@pytest.mark.parametrize("text", ['"1"', "true", "1.0"])
def test_people_write_types_literally(text: str) -> None:
    with pytest.raises(ValidationError):
        Said.model_validate_json(f'{{"number": {text}}}')


def test_what_crosses_an_adapter_is_one_of_three() -> None:
    assert Temporary("busy").delay == 1.0
    assert Temporary("busy", delay=5).delay == 5
    for error in (Permanent("no"), Temporary("later"), Conflict("again")):
        assert isinstance(error, MusterError)
