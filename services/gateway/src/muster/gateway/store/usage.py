"""What jobs used, summed up in the database. Means what `muster.domain.metering` means.

From one event of a job to the next its state holds; the last one holds until the instant that is
asked for. Sums are exact: whole seconds and the microseconds beyond them are summed apart, so that
no product leaves 64 bits.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from muster.domain.metering import LABEL, NO_MODEL, UNKNOWN_MODEL, WAITING, Used
from muster.gateway.core.usage import Usage, UsageAsked
from muster.gateway.store.metering import is_whole, micros
from muster.gateway.store.search import job_conditions, totals
from muster.gateway.store.tables import jobs, labels, meter, models, placements

_SECOND = 1_000_000


def usage(connection: sa.Connection, asked: UsageAsked) -> Usage:
    """Return the use that is asked for."""
    spans = _by_model(_clipped(asked)) if "model" in asked.by else _clipped(asked)
    keys = [_key(name, spans).label(f"key{index}") for index, name in enumerate(asked.by)]
    keyed = sa.select(*spans.c, *keys).subquery("keyed")
    columns = [keyed.c[f"key{index}"] for index in range(len(keys))]
    sums = _sums(keyed)
    groups = sa.select(*columns, *sums).group_by(*columns) if keys else sa.select(*sums)
    charge = groups.selected_columns.charge_s
    listed = groups.order_by(charge.desc(), *columns).limit(asked.limit)
    found = [
        (tuple(str(value) for value in row[: len(keys)]), _used(row))
        for row in connection.execute(listed)
    ]
    rows = tuple((key, used) for key, used in found if used.jobs)
    counted = connection.scalar(sa.select(sa.func.count()).select_from(groups.subquery()))
    total = connection.execute(sa.select(*_sums(_clipped(asked)))).one()
    return Usage(
        rows=rows,
        total=_used(total),
        groups=int(counted or 0) if keys else len(rows),
        gaps=_gaps(connection, asked),
        whole=is_whole(connection),
        position=totals(connection)[1],
    )


def _chosen(asked: UsageAsked) -> list[sa.ColumnElement[bool]]:
    """Conditions on jobs: matching, and not over before the time begins or new after it."""
    conditions = [*job_conditions(asked.wanted), jobs.c.submitted_at < asked.until]
    if asked.since is not None:
        late = sa.select(meter.c.tenant, meter.c.job).where(meter.c.at >= micros(asked.since))
        touched = sa.tuple_(jobs.c.tenant, jobs.c.job).in_(late)
        conditions.append(sa.or_(jobs.c.archived.is_(False), touched))
    return conditions


def _clipped(asked: UsageAsked) -> sa.Subquery:
    """Every time from one event of a job to the next, cut to what is asked for."""
    latest = sa.func.max(meter.c.at).over(  # time never goes back
        partition_by=(meter.c.tenant, meter.c.job), order_by=meter.c.version, rows=(None, 0)
    )
    same = sa.and_(meter.c.tenant == jobs.c.tenant, meter.c.job == jobs.c.job)
    at = (
        sa.select(*meter.c, jobs.c.user, jobs.c.pool, latest.label("began"))
        .join(jobs, same)
        .where(*_chosen(asked))
        .subquery("at")
    )
    following = sa.func.lead(at.c.began).over(
        partition_by=(at.c.tenant, at.c.job), order_by=at.c.version
    )
    span = sa.select(*at.c, following.label("ended")).subquery("span")
    since, until = _micros(asked.since), micros(asked.until)
    end = sa.func.coalesce(span.c.ended, until)
    began = sa.case((span.c.began < since, since), else_=span.c.began)
    ended = sa.case((end > until, until), else_=end)
    query = sa.select(*span.c, (ended - began).label("us"))
    return query.where(ended > began, span.c.over.is_(False)).subquery("clipped")


def _micros(since: Any) -> int:
    return -(2**62) if since is None else micros(since)


def _by_model(spans: sa.Subquery) -> sa.Subquery:
    """The same, once for each GPU model that was held, by what the nodes were at that event."""
    following = sa.func.lead(models.c.seq).over(
        partition_by=(models.c.pool, models.c.node), order_by=models.c.seq
    )
    known = sa.select(*models.c, following.label("next")).subquery("known")
    here = sa.and_(
        placements.c.tenant == spans.c.tenant,
        placements.c.job == spans.c.job,
        placements.c.placement == spans.c.placement,
    )
    then = sa.and_(
        known.c.pool == spans.c.pool,
        known.c.node == placements.c.node,
        known.c.seq <= spans.c.seq,
        sa.or_(known.c.next.is_(None), spans.c.seq < known.c.next),
    )
    model = sa.case(
        (placements.c.node.is_(None), NO_MODEL),
        (known.c.model.is_(None), UNKNOWN_MODEL),
        (known.c.model == "", UNKNOWN_MODEL),
        else_=known.c.model,
    ).label("model")
    others = [column for column in spans.c if column.name != "milli"]
    milli = sa.func.coalesce(sa.func.sum(placements.c.milli), 0)
    query = (
        sa.select(*others, model, sa.cast(milli, sa.BigInteger).label("milli"))
        .select_from(spans.outerjoin(placements, here).outerjoin(known, then))
        .group_by(*others, model)
    )
    return query.subquery("modelled")


def _key(name: str, spans: sa.Subquery) -> sa.ColumnElement[Any]:
    if name.startswith(LABEL):
        return _labelled(name.removeprefix(LABEL), spans)
    if name == "job":
        return spans.c.tenant + "/" + spans.c.job
    return spans.c[name]


def _labelled(key: str, spans: sa.Subquery) -> sa.ColumnElement[Any]:
    """The value of a job's label as it is now; empty without one."""
    prefix = f"{key}="
    mine = sa.and_(labels.c.tenant == spans.c.tenant, labels.c.job == spans.c.job)
    alone = labels.alias()
    has = sa.exists().where(
        alone.c.tenant == spans.c.tenant, alone.c.job == spans.c.job, alone.c.text == key
    )
    value = sa.func.min(sa.func.substr(labels.c.text, len(prefix) + 1))
    found = sa.select(value).where(
        mine, has, sa.func.substr(labels.c.text, 1, len(prefix)) == prefix
    )
    return sa.func.coalesce(found.correlate(spans).scalar_subquery(), "")


def _sums(spans: sa.Subquery) -> list[sa.Label[Any]]:
    waits = spans.c.phase.in_(sorted(phase.value for phase in WAITING))
    seconds, rest = spans.c.us // _SECOND, spans.c.us % _SECOND
    name = spans.c.tenant + "/" + spans.c.job

    def waited(value: Any) -> Any:
        return sa.case((waits, value), else_=0)

    summed = {
        "span": spans.c.us,
        "waited": waited(spans.c.us),
        "charge_s": spans.c.milli * seconds,
        "charge_us": spans.c.milli * rest,
        "waited_s": waited(spans.c.milli * seconds),
        "waited_us": waited(spans.c.milli * rest),
    }
    sums = [sa.func.coalesce(sa.func.sum(v), 0).label(label) for label, v in summed.items()]
    return [sa.func.count(name.distinct()).label("jobs"), *sums]


def _used(row: sa.Row[Any]) -> Used:
    return Used(
        jobs=int(row.jobs),
        span=int(row.span),
        waited=int(row.waited),
        charge=int(row.charge_s) * _SECOND + int(row.charge_us),
        waited_charge=int(row.waited_s) * _SECOND + int(row.waited_us),
    )


def _gaps(connection: sa.Connection, asked: UsageAsked) -> int:
    same = sa.and_(meter.c.tenant == jobs.c.tenant, meter.c.job == jobs.c.job)
    broken = (
        sa.select(meter.c.tenant)
        .join(jobs, same)
        .where(*_chosen(asked))
        .group_by(meter.c.tenant, meter.c.job)
        .having(sa.func.max(meter.c.version) != sa.func.count())
    )
    return int(connection.scalar(sa.select(sa.func.count()).select_from(broken.subquery())) or 0)
