"""Rules, deliveries, silences and addresses, as people read them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from rich.table import Table
from rich.text import Text

from muster.cli.output import row, table
from muster.cli.texts import pick, say
from muster.cli.words import moment
from muster.contracts import notices as n

_COLOURS = {"ok": "green", "failing": "red", "paused": "yellow", "new": "default"}


def _titled(*titles: str) -> Table:
    return table(*(say(f"column.notify.{title}") for title in titles))


def health_text(health: n.Health) -> Text:
    """Return the word for a state of health, with the receiver's code where it refuses."""
    word = say(f"notify.health.{health.state}")
    code = f" {health.code}" if health.state == "failing" and health.code else ""
    return Text(f"{word}{code}", _COLOURS.get(health.state, "default"))


def scope_text(scope: object) -> str:
    """Return a scope in a few words."""
    if not isinstance(scope, Mapping):
        return say(f"notify.scope.{scope}")
    ((kind, value),) = scope.items()
    if isinstance(value, Mapping):
        value = " ".join(f"{key}={inner}" for key, inner in sorted(value.items()))
    return say(f"notify.scope.{kind}", value=value)


def rule_table(rules: Iterable[n.RuleView]) -> Table:
    """Return the table."""
    made = _titled("rule", "trigger", "scope", "channel", "address", "health", "pending")
    for each in rules:
        row(
            made,
            Text(each.id, "bold"),
            each.trigger,
            scope_text(each.scope),
            f"{each.channel} {each.language}",
            each.shown or "-",
            health_text(each.health),
            str(each.pending),
        )
    return made


def rule_lines(rule: n.RuleView) -> Iterator[str]:
    """Yield everything of one rule."""
    yield f"{rule.id}: {rule.trigger} · {scope_text(rule.scope)}"
    facts = {
        "channel": f"{rule.channel} ({rule.language})",
        "address": rule.shown or "-",
        "signed": say("notify.yes" if rule.signed else "notify.no"),
        "keywords": " ".join(rule.keywords) or "-",
        "owner": say("notify.operator") if rule.file else rule.owner,
        "since": moment(rule.since) if rule.since else "-",
        "delivered": moment(rule.delivered_at) if rule.delivered_at else "-",
        "pending": str(rule.pending),
        "dead": str(rule.dead),
    }
    for key, value in facts.items():
        yield f"  {say(f'notify.fact.{key}')}: {value}"
    yield f"  {say('notify.fact.health')}: {health_text(rule.health).plain}"
    yield from (f"    {line}" for line in _why(rule.health))


def _why(health: n.Health) -> Iterator[str]:
    if health.state != "failing":
        return
    if health.text:
        yield say("notify.says", text=health.text)
    if health.since:
        yield say("notify.since", at=moment(health.since))
    if health.remedy:
        yield say("notify.remedy", remedy=pick((health.remedy, health.remedy_zh)))


def tested_lines(told: n.Tested) -> Iterator[str]:
    """Yield what came of a test."""
    word = "notify.tested.ok" if told.delivered else "notify.tested.no"
    yield say(word, rule=told.rule, code=told.code, text=told.text)
    if told.remedy:
        yield say("notify.remedy", remedy=pick((told.remedy, told.remedy_zh)))


def delivery_table(rows: Iterable[n.DeliveryView]) -> Table:
    """Return the table."""
    made = _titled("at", "rule", "subject", "transition", "state", "attempts", "code", "notice")
    for each in rows:
        row(
            made,
            moment(each.happened_at),
            each.rule,
            each.subject,
            each.transition,
            state_text(each.state),
            str(each.attempts),
            f"{each.code} {each.text}".strip() or "-",
            each.notice,
        )
    return made


def state_text(state: str) -> Text:
    """Return the word for where a notice stands."""
    colour = {"delivered": "green", "dead": "red", "unknown": "yellow"}.get(state, "default")
    return Text(say(f"notify.state.{state}"), colour)


def counted(counts: Mapping[str, int]) -> str:
    """Return how many there are of each state."""
    parts = (f"{state_text(state).plain} {count}" for state, count in sorted(counts.items()))
    return say("notify.counts", counts=say("comma").join(parts))


def silence_table(silences: Iterable[n.SilenceView]) -> Table:
    """Return the table."""
    made = _titled("silence", "from", "until", "author", "matches", "comment")
    for each in silences:
        row(
            made,
            Text(each.id, "bold"),
            moment(each.start),
            moment(each.end),
            each.author,
            _matches(each),
            each.comment,
        )
    return made


def _matches(silence: n.SilenceView) -> str:
    named = {"subject": silence.subject, "rule": silence.rule, "owner": silence.owner}
    parts = [f"{name}={value}" for name, value in named.items() if value is not None]
    parts += [f"trigger={name}" for name in silence.triggers]
    parts += [f"label {key}={value}" for key, value in sorted(silence.labels.items())]
    return " ".join(parts)


def lane_table(lanes: Iterable[n.LaneView]) -> Table:
    """Return the table."""
    made = _titled("channel", "address", "health", "waiting", "oldest", "delivered", "rules")
    for each in lanes:
        row(
            made,
            each.channel,
            each.shown or "-",
            health_text(each.health),
            str(each.backlog),
            f"{each.oldest_s:.0f}s" if each.oldest_s is not None else "-",
            moment(each.delivered_at) if each.delivered_at else "-",
            " ".join(each.rules),
        )
    return made


def lane_lines(lanes: Iterable[n.LaneView]) -> Iterator[str]:
    """Yield what is wrong with each that fails, and what to do."""
    for each in lanes:
        for line in _why(each.health):
            yield f"{each.channel} {each.shown or each.lane}: {line}"
        if each.probe_at is not None:
            yield say("notify.probe", address=each.shown or each.lane, at=moment(each.probe_at))
