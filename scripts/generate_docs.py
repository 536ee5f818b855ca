"""Writes docs/reference/*.md from the code, so that they cannot drift. `--check` only compares."""

from __future__ import annotations

import argparse
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from pydantic_settings import BaseSettings

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.faults import scores
from benchmarks.faults_cases import load
from benchmarks.faults_page import figures, intro
from muster.admission.settings import AdmissionSettings
from muster.bus.topology import CONSUMERS, DESKS, STREAMS
from muster.cli import reference as cli
from muster.cli.simulation import auto_queue_page, scenario_table
from muster.cli.simulation.sameness import FreshDecidesTheSame
from muster.contracts.events import event_type
from muster.contracts.evidence import EVIDENCE_QUESTIONS
from muster.contracts.fault_questions import FAULT_QUESTIONS
from muster.contracts.judgements import JUDGEMENT_QUESTIONS
from muster.contracts.notices import NOTICE_QUESTIONS
from muster.contracts.queries import QUERIES
from muster.contracts.requests import REQUESTS, request_type
from muster.contracts.subjects import CLOCK
from muster.domain.causes import PREEMPTIONS, AfterRelease, EvictionCause, after_release
from muster.domain.clock import ClockSet
from muster.domain.deadlines import DEADLINES
from muster.domain.demand import ResourceClass
from muster.domain.edges import EDGES
from muster.domain.facts import FACTS
from muster.domain.incidents import INCIDENT_FACTS, INCIDENT_OWNERS
from muster.domain.nodes import NODE_FACTS, NODE_OWNERS
from muster.domain.phases import PARKED, SHOWN_TEXT, TERMINAL, Phase
from muster.domain.pools import POOL_FACTS
from muster.domain.reasons import ReasonCode, texts_of
from muster.domain.rules import RULES
from muster.domain.stock import STOCK_FACTS
from muster.domain.tenants import TENANT_FACTS
from muster.domain.waiting import HelpKind, Tier
from muster.domain.waiting_words import WORDS
from muster.domain.whatif import FORMS
from muster.executor.settings import ExecutorSettings
from muster.fault_tolerance.core.rules import Role
from muster.fault_tolerance.core.rules import Rule as FailureRule
from muster.fault_tolerance.rulebook import VERSION, shipped
from muster.fault_tolerance.settings import FaultToleranceSettings
from muster.gateway.settings import GatewaySettings
from muster.notifier.settings import NotifierSettings
from muster.requeue.settings import RequeueSettings
from muster.runtime.settings import HostSettings
from muster.scheduler.core.endings import Basis
from muster.scheduler.core.eta import ASSUMES, BASIS, WHY
from muster.scheduler.settings import SchedulerSettings
from muster.testing.invariants import ELSEWHERE, OBSERVED
from muster.testing.invariants.base import Invariant

FOLDER = Path(__file__).parent.parent / "docs" / "reference"
NOTE = "<!-- Made by `make docs` from the code. Change the code, not this page. -->"


def main() -> int:
    """Write every page, or compare; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    check = parser.parse_args().check
    stale = [name for name, page in PAGES.items() if _differs(name, page(), write=not check)]
    if stale and check:
        print(f"out of date: {', '.join(stale)}; run `make docs`", file=sys.stderr)
        return 1
    return 0


def _differs(name: str, text: str, *, write: bool) -> bool:
    path = FOLDER / name
    same = path.is_file() and path.read_text(encoding="utf-8") == text
    if not same and write:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return not same


def _page(title: str, intro: str, *blocks: str) -> str:
    return "\n\n".join([f"# {title}", NOTE, intro, *blocks]) + "\n"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(_cell(c) for c in line) + " |" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _doc(item: object) -> str:
    return (inspect.getdoc(item) or "").split("\n\n")[0]


def phases() -> str:
    rows = [
        (
            f"`{phase}`",
            "terminal" if phase in TERMINAL else "parked" if phase in PARKED else "active",
        )
        for phase in Phase
    ]
    shown = [(f"`{shown}`", english, chinese) for shown, (english, chinese) in SHOWN_TEXT.items()]
    return _page(
        "Phases",
        "Where a job stands, and what a person is shown for it.",
        _table(("phase", "kind"), rows),
        "## Shown as",
        _table(("shown", "English", "中文"), shown),
    )


def edges() -> str:
    order = {phase: index for index, phase in enumerate(Phase)}

    def names(phases: Iterable[Phase]) -> str:
        found = sorted(phases, key=order.__getitem__)
        return "every phase" if len(found) == len(Phase) else ", ".join(found) or "-"

    rows = [
        (
            f"`{event}`",
            names(edge.sources),
            "as released: see the life cycle"
            if event == "released"
            else names(edge.targets)
            if edge.targets
            else "unchanged",
            ", ".join(edge.owners),
            _doc(FACTS[event]),
        )
        for event, edge in EDGES.items()
    ]
    return _page(
        "Edges of the life cycle",
        "Which event may follow which phase, and the one service that writes it.",
        _table(("event", "from", "to", "owner", "what it says"), rows),
    )


def deadlines() -> str:
    rows = [
        (
            f"`{kind}`",
            ", ".join(sorted(row.phases))
            + (" (before launching)" if row.launched is False else ""),
            row.owner,
            f"`{row.event}`" if row.event else "kill",
        )
        for kind, row in DEADLINES.items()
    ]
    return _page(
        "Deadlines",
        "Every waiting phase has a clock. The instant is in the job's state; an alarm only wakes.",
        _table(("deadline", "counts in", "owner", "then"), rows),
    )


def requeue() -> str:
    columns = [("on, requeues left", True, 1, ResourceClass.SPOT)]
    columns += [("on, none left", True, 0, ResourceClass.SPOT)]
    columns += [(f"off: {kind}", False, 0, kind) for kind in ResourceClass]
    rows = [
        (
            f"`{cause}`",
            "yes" if cause in PREEMPTIONS else "no",
            *(_after(cause, on, left, kind) for _, on, left, kind in columns),
        )
        for cause in EvictionCause
    ]
    return _page(
        "After a release",
        "What requeue does with an interrupted job, by the cause of its eviction and auto-queue.",
        _table(("cause", "counts", *(name for name, *_ in columns)), rows),
    )


def _after(cause: EvictionCause, on: bool, left: int, kind: ResourceClass) -> str:
    what: AfterRelease = after_release(cause, auto_queue=on, left=left, resource_class=kind)
    return what.value


def events() -> str:
    jobs = [
        (f"`jobs.<tenant>.<job>.{e}`", f"`{event_type('job', e, x.version)}`", _doc(x))
        for e, x in FACTS.items()
    ]
    nodes = [
        (
            f"`pools.<pool>.nodes.<node>.{e}`",
            f"`{event_type('node', e, x.version)}`",
            f"{_doc(x)} ({', '.join(NODE_OWNERS[e])})",
        )
        for e, x in NODE_FACTS.items()
    ]
    pools = [
        (f"`pools.<pool>.{e}`", f"`{event_type('pool', e, x.version)}`", _doc(x))
        for e, x in POOL_FACTS.items()
    ]
    clock = event_type("cluster", ClockSet.event, ClockSet.version)
    pools.append((f"`{CLOCK.condition}`", f"`{clock}`", _doc(ClockSet)))
    stock = [
        ("`pools.<pool>.stock.<item>`", f"`{event_type('stock', e, x.version)}`", _doc(x))
        for e, x in STOCK_FACTS.items()
    ]
    tenants = [
        (f"`tenants.<tenant>.{e}`", f"`{event_type('tenant', e, x.version)}`", _doc(x))
        for e, x in TENANT_FACTS.items()
    ]
    incidents = [
        (
            f"`incidents.<incident>.{e}`",
            f"`{event_type('incident', e, x.version)}`",
            f"{_doc(x)} ({', '.join(INCIDENT_OWNERS[e])})",
        )
        for e, x in INCIDENT_FACTS.items()
    ]
    asked = [
        (f"`requests.<tenant>.{v}`", f"`{request_type(v, x.version)}`", _doc(x))
        for v, x in REQUESTS.items()
    ]
    questions = [(f"`queries.<pool>.{k}`", _doc(x)) for k, x in QUERIES.items()]
    questions += [(f"`judgements.{k}`", _doc(x)) for k, x in JUDGEMENT_QUESTIONS.items()]
    questions += [(f"`evidence.<pool>.{k}`", _doc(x)) for k, x in EVIDENCE_QUESTIONS.items()]
    questions += [(f"`faults.<pool>.{k}`", _doc(x)) for k, x in FAULT_QUESTIONS.items()]
    questions += [(f"`notices.<tenant>.{k}`", _doc(x)) for k, x in NOTICE_QUESTIONS.items()]
    head = ("subject", "type", "what it says")
    return _page(
        "Events and requests",
        "CloudEvents 1.0, structured JSON. An event of a job carries the job's whole state.",
        "## Jobs",
        _table(head, jobs),
        "## Nodes",
        _table(head, nodes),
        "## Pools and clusters",
        "`clusters.<cluster>.epoch` says which executor may act on a cluster.",
        _table(head, pools),
        "## Spot stock",
        _table(head, stock),
        "## Tenants",
        _table(head, tenants),
        "## Incidents",
        _table(head, incidents),
        "## Requests",
        "Each is answered on `answers.<tenant>.<request id>`.",
        _table(head, asked),
        "## Questions",
        "Core NATS, request and reply; JSON without an envelope. An answer about a plan names the"
        " place of the log that it is based on. Nothing of it is stored.",
        _table(("subject", "question"), questions),
    )


def streams() -> str:
    rows = [
        (f"`{s.name}`", ", ".join(f"`{x}`" for x in s.subjects) or "(sourced)", s.description)
        for s in STREAMS
    ]
    consumers = [
        (
            f"`{c.durable}`",
            c.owner,
            c.stream,
            ", ".join(f"`{x}`" for x in c.filters) or "everything",
        )
        for c in CONSUMERS
    ]
    return _page(
        "Streams and consumers",
        "What `muster provision` makes of a server.",
        _table(("stream", "subjects", "for"), rows),
        "## Desks",
        "Questions on core NATS; each is answered by one replica of the group.",
        _table(
            ("group", "service", "subjects"),
            [(f"`{d.group}`", d.owner, ", ".join(f"`{x}`" for x in d.subjects)) for d in DESKS],
        ),
        "## Durable consumers",
        _table(("durable", "service", "stream", "filters"), consumers),
    )


def reasons() -> str:
    rows = [(f"`{code}`", *texts_of(code)) for code in ReasonCode]
    return _page(
        "Reasons",
        "Why a job stands where it stands: stable codes, two languages.",
        _table(("code", "English", "中文"), rows),
    )


def waiting() -> str:
    rows = [
        (f"`{code}`", f"`{words.tier}`", words.en, words.helps) for code, words in WORDS.items()
    ]
    rows_zh = [(f"`{code}`", words.zh, words.helps_zh) for code, words in WORDS.items()]
    tiers = [(f"`{tier}`", _tier(tier)) for tier in Tier]
    helps = [(f"`{kind}`", f"{what}{' (tried)' if tried else ''}") for kind, what, tried in _HELPS]
    known = {basis.name: said.en for basis, said in BASIS.items() if basis is not Basis.UNKNOWN}
    estimates = [(f"`{code}`", said) for code, said in known.items()]
    estimates += [(f"`{code}`", f"unknown: {said.en}") for code, said in WHY.items()]
    return _page(
        "Why a job is not running",
        "`muster explain JOB` and `GET /api/v1/jobs/<tenant>/<job>/explanation` ask the scheduler,"
        " which plans a round and answers for this one job. Codes are stable; names in braces are"
        " numbers of the answer. What the pool's `summary` keeps of a reason has no number that"
        " changes from round to round.",
        _table(("code", "tier", "what it says", "what unblocks it"), rows),
        "## Tiers",
        _table(("tier", "where to look first"), tiers),
        "## What would help",
        "An answer lists what would help this job in particular. A help that is *tried* was put"
        " into a plan, and the plan places the job.",
        _table(("kind", "what"), helps),
        "## When it will start",
        "`estimate` of a job that waits: `earliest` and `latest`, with the basis. It takes for"
        f" granted that {ASSUMES.en}. No estimate has a `latest` that rests on nothing: then the"
        " basis says why.",
        _table(("basis", "what it says"), estimates),
        "## What-ifs",
        "`--if`, several at once: " + ", ".join(f"`{form}`" for form in FORMS) + ". Nothing of"
        " it is done. `remove` and `stop` are as if the node, or the job, was gone already;"
        " `drain` sends off what runs there, as in earnest.",
        "## 中文",
        _table(("代码", "含义", "如何解除"), rows_zh),
    )


def _tier(tier: Tier) -> str:
    lines = (inspect.getdoc(Tier) or "").replace("\n", " ")
    found = re.search(rf"\b{tier}: ([^.]*)\.", lines)
    return found[1] if found else ""


_HELPS = (
    (HelpKind.WAIT, "nothing but time, until the instant that is named", True),
    (HelpKind.GUARD_ENDS, "time: jobs that are spared for now may be evicted from then on", True),
    (HelpKind.OPEN_NODES, "an operator opens the nodes that are named", True),
    (HelpKind.NODE_POLICY, "the job gives up its node policy", True),
    (HelpKind.LOCALITY, "the job's locality becomes preferred", True),
    (HelpKind.PRIORITY, "the priority that is named, the lowest that is enough", True),
    (HelpKind.ROOM, "so many workers' room comes free on open nodes", False),
    (HelpKind.SMALLER, "the job asks for no more workers than fit", False),
    (HelpKind.GENERAL, "what the table above says of the code", False),
)


def rules() -> str:
    rows = [(f"`{code}`", english, chinese) for code, (english, chinese) in RULES.items()]
    return _page(
        "Validation rules",
        "A refused request names every broken rule at once: code, path of the field, text.",
        _table(("code", "English", "中文"), rows),
    )


def failure_rules() -> str:
    book = shipped()
    blocks: list[str] = []
    for group in sorted({rule.group for rule in book.rules}):
        rows = [_failure_rule(rule) for rule in book.rules if rule.group == group]
        titles = ("rule", "reads", "what", "含义", "blame", "action", "advice", "建议")
        blocks += [f"## {group}", _table(titles, rows)]
    return _page(
        "Rules of failures",
        f"The {len(book.rules)} rules that come with Muster, version {VERSION}. "
        "[How to write your own](../failure-rules.md). A rule reads the end of a log, lines of a "
        "kernel, or what the cluster says of a worker or node; a role other than root is named.",
        *blocks,
    )


def _failure_rule(rule: FailureRule) -> tuple[str, ...]:
    role = "" if rule.role is Role.ROOT else f", {rule.role}"
    stages = f", in {'/'.join(sorted(rule.stages))}" if rule.stages else ""
    field = f" (`{rule.advice.field}`)" if rule.advice and rule.advice.field else ""
    return (
        f"`{rule.id}`" + (" in shadow" if rule.shadow else ""),
        f"{rule.scope}{role}{stages}",
        rule.what.en,
        rule.what.zh,
        rule.blame,
        rule.action,
        rule.advice.en + field if rule.advice else "-",
        rule.advice.zh if rule.advice else "-",
    )


def settings() -> str:
    blocks: list[str] = []
    for model in _settings_models():
        prefix = str(model.model_config.get("env_prefix", ""))
        rows = [
            (f"`{prefix}{name.upper()}`", _shown_default(field.get_default()))
            for name, field in model.model_fields.items()
        ]
        blocks += [
            f"## {model.__name__}",
            inspect.getdoc(model) or "",
            _table(("variable", "default"), rows),
        ]
    return _page("Settings", "All from the environment; each service has its prefix.", *blocks)


def _settings_models() -> Sequence[type[BaseSettings]]:
    return (
        HostSettings,
        AdmissionSettings,
        SchedulerSettings,
        ExecutorSettings,
        RequeueSettings,
        FaultToleranceSettings,
        NotifierSettings,
        GatewaySettings,
    )


def _shown_default(value: object) -> str:
    return "-" if value is None else f"`{value}`"


def commands() -> str:
    rows = [
        (panel[0], f"`muster {name}`", " ".join(f"`{each}`" for each in own), *text)
        for panel, name, text, own in cli.commands()
    ]
    codes = [(f"`{code}`", *meaning) for code, meaning in cli.exit_codes()]
    return _page(
        "Commands",
        "Every command also has `--json`, `--state`, `--lang`, `--debug` and `--help`.",
        _table(("part", "command", "arguments and options", "English", "中文"), rows),
        "## Exit codes",
        "`muster submit --follow` ends with the code of the job's outcome.",
        _table(("code", "English", "中文"), codes),
    )


def invariants() -> str:
    looked_at: list[type[Invariant]] = [*OBSERVED, FreshDecidesTheSame]
    rows = [(each.number, each.text, f"`{each.__name__}`") for each in looked_at]
    rows += [(number, text, where) for number, (text, where) in ELSEWHERE.items()]
    return _page(
        "Invariants",
        "What must hold after every step of every world, whatever fails. `muster simulate faults`"
        " looks at each change once, at the log and at the processes that really run. For each"
        " class there is a fault in `tests/sim/mutations.py`, put into the code on purpose, that it"
        " must find.",
        _table(("number", "holds", "looked at by"), sorted(rows, key=lambda row: int(row[0][1:]))),
        "## How a world is made",
        "* Time is virtual. Coroutines stop at every operation on the log, the bus, the database"
        " and the cluster, and a seed decides who goes on: every interleaving is a choice.\n"
        "* A crash ends a process between any two operations; its messages come again, its memory"
        " is gone. Pauses let a process go on later with what it knew.\n"
        "* Reads may be stale, writes lost or of unknown outcome, acknowledgements lost, messages"
        " doubled and in another order, alarms lost, late, early or doubled, clocks wrong, foreign"
        " and unreadable messages on a job's subject.\n"
        "* Machines are taken away, cut off and given back; workers fail, hang, ignore signals,"
        " outlive kills, vanish; people stop, resume, change and submit twice.\n"
        "* After the random steps the faults stop; then every job must come to an end.",
        "`muster simulate faults --replay SEED` shows again what led to a broken invariant.",
    )


def cases() -> str:
    folder = Path(__file__).parent.parent / "tests" / "scenarios"
    return _page("Cases", scenario_table.INTRO, scenario_table.page(folder))


def auto_queue() -> str:
    return _page("Auto-queue", auto_queue_page.INTRO, auto_queue_page.page())


def fault_scoreboard() -> str:
    """Every labelled failure under every policy: a run of the benchmark."""
    labelled = load()
    return _page(
        "How well failures are told apart", intro(labelled), figures(list(scores(labelled)))
    )


PAGES: dict[str, Callable[[], str]] = {
    "phases.md": phases,
    "edges.md": edges,
    "deadlines.md": deadlines,
    "requeue.md": requeue,
    "auto_queue.md": auto_queue,
    "events.md": events,
    "streams.md": streams,
    "reasons.md": reasons,
    "waiting.md": waiting,
    "rules.md": rules,
    "failure_rules.md": failure_rules,
    "settings.md": settings,
    "commands.md": commands,
    "invariants.md": invariants,
    "cases.md": cases,
    "fault_scoreboard.md": fault_scoreboard,
}

if __name__ == "__main__":
    sys.exit(main())
