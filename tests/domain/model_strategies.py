"""Values of any frozen model, made field by field from its annotations."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import chain
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from annotated_types import MinLen
from hypothesis import strategies as st
from pydantic import AwareDatetime, BaseModel
from pydantic.fields import FieldInfo

from muster.domain.spec import JobSpec
from tests.support.lives import spec

TOKENS = st.from_regex(r"[A-Za-z0-9_-]{1,16}", fullmatch=True)
TEXTS = st.text(max_size=12).filter(lambda text: text == text.encode(errors="ignore").decode())
INSTANTS = st.datetimes(
    min_value=datetime(2024, 1, 1),  # noqa: DTZ001 - Hypothesis adds the zone itself
    max_value=datetime(2040, 1, 1),  # noqa: DTZ001
    timezones=st.just(UTC),
)
SPECS = st.sampled_from([spec(), spec(labels={"a": "b"}, max_runtime_s=60)])
PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    str: TEXTS,
    int: st.integers(0, 10_000),
    float: st.integers(0, 1000).map(float),
    bool: st.booleans(),
    type(None): st.none(),
    datetime: INSTANTS,
    AwareDatetime: INSTANTS,
    JobSpec: SPECS,
}


def values_of(model: type[BaseModel]) -> st.SearchStrategy[Any]:
    """Values of a model; optional fields are sometimes left out."""
    required, optional = dict[str, Any](), dict[str, Any]()
    for name, field in model.model_fields.items():
        values = _values(field.annotation, tuple(field.metadata))
        (required if field.is_required() else optional)[name] = values
    fields = st.fixed_dictionaries(required, optional=optional)
    return fields.map(lambda given: model(**given))


def _values(annotation: Any, metadata: tuple[Any, ...] = ()) -> st.SearchStrategy[Any]:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        inner = (each.metadata if isinstance(each, FieldInfo) else [each] for each in arguments[1:])
        return _values(arguments[0], (*metadata, *chain.from_iterable(inner)))
    if annotation is str and any(getattr(each, "pattern", None) for each in metadata):
        return TOKENS
    if annotation in PLAIN:
        return PLAIN[annotation]
    if origin in {Union, UnionType}:
        return st.one_of(*(_values(each) for each in arguments))
    if origin is tuple:
        return _tuples(arguments, metadata)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        keys, items = (_values(each) for each in arguments)
        return st.dictionaries(keys, items, max_size=3)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return values_of(annotation)
    return st.sampled_from(list(annotation))  # an enumeration


def _tuples(arguments: tuple[Any, ...], metadata: tuple[Any, ...]) -> st.SearchStrategy[Any]:
    if arguments[-1] is not Ellipsis:
        return st.tuples(*(_values(each) for each in arguments))
    least = max([0, *(each.min_length for each in metadata if isinstance(each, MinLen))])
    return st.lists(_values(arguments[0]), min_size=least, max_size=3).map(tuple)
