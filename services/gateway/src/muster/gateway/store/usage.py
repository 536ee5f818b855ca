"""What jobs used, summed up in the database. Means what `muster.domain.metering` means.

From one event of a job to the next its state holds; the last one holds until the instant that is
asked for. Sums are exact: whole seconds and the microseconds beyond them are summed apart, so that
no product leaves 64 bits. First each job is summed up, then jobs are.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from muster.domain.metering import LABEL, NO_MODEL, UNKNOWN_MODEL, WAITING, Key, Used
from muster.gateway.core.usage import Usage, UsageAsked
from muster.gateway.store.metering import is_whole, micros
from muster.gateway.store.search import job_conditions, totals
from muster.gateway.store.tables import jobs, labels, meter, models, placements

_SECOND = 1_000_000
_EVER = -(2**62)
_INSIDE = ("class", "phase", "model")
"""Dimensions of which one job may have several."""
_SUMS = ("jobs", "span", "waited", "charge_s", "charge_us", "waited_s", "waited_us")


def usage(connection: sa.Connection, asked: UsageAsked) -> Usage:
    """Return the use that is asked for."""
    rows, total, groups = _summed(connection, asked, asked.by)
    if set(asked.by) & set(_INSIDE):  # a job may be in several rows, a time under two models
        _, total, _ = _summed(connection, asked, ())
    return Usage(
        rows=rows,
        total=total,
        groups=groups,
        gaps=_gaps(connection, asked),
        whole=is_whole(connection),
        position=totals(connection)[1],
    )


def _summed(
    connection: sa.Connection, asked: UsageAsked, by: Sequence[str]
) -> tuple[tuple[tuple[Key, Used], ...], Used, int]:
    """Return the greatest sums, what all come to if they share no job, and how many there are."""
    lives = _lives(asked, [name for name in by if name in _INSIDE])
    keyed = (
        sa.select(*lives.c, *(_key(n, lives).label(f"key{i}") for i, n in enumerate(by)))
        .join(jobs, _same(jobs, lives))
        .subquery("keyed")
    )
    keys = [keyed.c[f"key{index}"] for index in range(len(by))]
    sums = [sa.func.sum(keyed.c[name]).label(name) for name in _SUMS]
    groups = sa.select(*keys, *sums).group_by(*keys).subquery("groups")
    charge = groups.c.charge_s + groups.c.charge_us / float(_SECOND)
    every = [sa.func.sum(groups.c[name]).over().label(f"all_{name}") for name in _SUMS]
    query = (
        sa.select(*groups.c, sa.func.count().over().label("groups"), *every)
        .where(groups.c.jobs > 0)
        .order_by(charge.desc(), *list(groups.c)[: len(by)])
        .limit(asked.limit)
    )
    found = connection.execute(query).all()
    if not found:
        return (), Used(), 0
    rows = tuple((tuple(str(v) for v in row[: len(by)]), _used(row)) for row in found)
    return rows, _used(found[0], "all_"), int(found[0].groups)


def _used(row: Any, prefix: str = "") -> Used:
    value = {name: int(getattr(row, prefix + name)) for name in _SUMS}
    return Used(
        jobs=value["jobs"],
        span=value["span"],
        waited=value["waited"],
        charge=value["charge_s"] * _SECOND + value["charge_us"],
        waited_charge=value["waited_s"] * _SECOND + value["waited_us"],
    )


def _lives(asked: UsageAsked, inside: Sequence[str]) -> sa.Subquery:
    """Each job's sums, by what one job may have several of."""
    spans = _by_model(_spans(asked)) if "model" in inside else _spans(asked)
    waits = spans.c.phase.in_(sorted(phase.value for phase in WAITING))
    seconds, rest = spans.c.us // _SECOND, spans.c.us % _SECOND
    values = {
        "span": spans.c.us,
        "waited": sa.case((waits, spans.c.us), else_=0),
        "charge_s": spans.c.milli * seconds,
        "charge_us": spans.c.milli * rest,
        "waited_s": sa.case((waits, spans.c.milli * seconds), else_=0),
        "waited_us": sa.case((waits, spans.c.milli * rest), else_=0),
    }
    keys = [spans.c.tenant, spans.c.job, *(spans.c[name] for name in inside)]
    sums = [sa.func.sum(value).label(name) for name, value in values.items()]
    one = sa.literal(1, sa.Integer).label("jobs")
    return sa.select(*keys, one, *sums).group_by(*keys).subquery("lives")


def _spans(asked: UsageAsked) -> sa.Subquery:
    """Every time from one event of a job to the next, cut to what is asked for."""
    job = (meter.c.tenant, meter.c.job)
    latest = sa.func.max(meter.c.at).over(  # time never goes back
        partition_by=job, order_by=meter.c.version, rows=(None, 0)
    )
    at = sa.select(*meter.c, latest.label("began")).where(_chosen(asked)).subquery("at")
    following = sa.func.lead(at.c.began).over(
        partition_by=(at.c.tenant, at.c.job), order_by=at.c.version
    )
    span = sa.select(*at.c, following.label("ended")).subquery("span")
    since, until = _micros(asked.since), _micros(asked.until)
    end = sa.func.coalesce(span.c.ended, until)
    began = sa.case((span.c.began < since, since), else_=span.c.began)
    ended = sa.case((end > until, until), else_=end)
    query = sa.select(*span.c, (ended - began).label("us"))
    return query.where(ended > began, span.c.over.is_(False)).subquery("spans")


def _micros(at: datetime | None) -> int:
    return _EVER if at is None else micros(at)


def _chosen(asked: UsageAsked) -> sa.ColumnElement[bool]:
    """Rows of jobs that match, and are not over before the time begins or new after it."""
    conditions = [*job_conditions(asked.wanted), jobs.c.submitted_at < asked.until]
    if asked.since is not None:
        late = sa.select(meter.c.tenant, meter.c.job).where(meter.c.at >= micros(asked.since))
        touched = sa.tuple_(jobs.c.tenant, jobs.c.job).in_(late)
        conditions.append(sa.or_(jobs.c.archived.is_(False), touched))
    mine = sa.select(jobs.c.tenant, jobs.c.job).where(*conditions)
    return sa.tuple_(meter.c.tenant, meter.c.job).in_(mine)


def _by_model(spans: sa.Subquery) -> sa.Subquery:
    """The same, once for each GPU model that was held, by what the nodes were at that event."""
    following = sa.func.lead(models.c.seq).over(
        partition_by=(models.c.pool, models.c.node), order_by=models.c.seq
    )
    known = sa.select(*models.c, following.label("next")).subquery("known")
    here = sa.and_(_same(placements, spans), placements.c.placement == spans.c.placement)
    then = sa.and_(
        known.c.pool == jobs.c.pool,
        known.c.node == placements.c.node,
        known.c.seq <= spans.c.seq,
        sa.or_(known.c.next.is_(None), spans.c.seq < known.c.next),
    )
    model = sa.case(
        (placements.c.node.is_(None), NO_MODEL),
        (sa.func.coalesce(known.c.model, "") == "", UNKNOWN_MODEL),
        else_=known.c.model,
    ).label("model")
    others = [spans.c[name] for name in ("tenant", "job", "version", "class", "phase", "us")]
    milli = sa.func.coalesce(sa.func.sum(placements.c.milli), 0)
    query = (
        sa.select(*others, model, sa.cast(milli, sa.BigInteger).label("milli"))
        .select_from(
            spans.join(jobs, _same(jobs, spans)).outerjoin(placements, here).outerjoin(known, then)
        )
        .group_by(*others, model)
    )
    return query.subquery("modelled")


def _same(one: sa.FromClause, other: sa.FromClause) -> sa.ColumnElement[bool]:
    return sa.and_(one.c.tenant == other.c.tenant, one.c.job == other.c.job)


def _key(name: str, lives: sa.Subquery) -> sa.ColumnElement[Any]:
    if name.startswith(LABEL):
        return _labelled(name.removeprefix(LABEL), lives)
    if name == "job":
        return lives.c.tenant + "/" + lives.c.job
    return lives.c[name] if name in _INSIDE else jobs.c[name]


def _labelled(key: str, lives: sa.Subquery) -> sa.ColumnElement[Any]:
    """The value of a job's label as it is now; empty without one."""
    prefix = f"{key}="
    alone = labels.alias()
    has = sa.exists().where(_same(alone, lives), alone.c.text == key)
    value = sa.func.min(sa.func.substr(labels.c.text, len(prefix) + 1))
    found = sa.select(value).where(
        _same(labels, lives), has, sa.func.substr(labels.c.text, 1, len(prefix)) == prefix
    )
    return sa.func.coalesce(found.correlate(lives).scalar_subquery(), "")


def _gaps(connection: sa.Connection, asked: UsageAsked) -> int:
    broken = (
        sa.select(meter.c.tenant)
        .where(_chosen(asked))
        .group_by(meter.c.tenant, meter.c.job)
        .having(sa.func.max(meter.c.version) != sa.func.count())
    )
    return int(connection.scalar(sa.select(sa.func.count()).select_from(broken.subquery())) or 0)
