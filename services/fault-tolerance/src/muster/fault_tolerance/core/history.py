"""What a failure's history makes of it: the same again, the same node, the same elsewhere. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from muster.domain.diagnosis import Action, Advice, Blame, EvidenceLine, Kind, Source, Stage
from muster.domain.faults import Faults, after_failure
from muster.fault_tolerance.core.cause import Cause
from muster.fault_tolerance.core.choice import View
from muster.fault_tolerance.core.failure import Earlier, NodeRecord
from muster.fault_tolerance.core.narrowed import LEAVES
from muster.fault_tolerance.core.refine import early
from muster.fault_tolerance.core.spread import everywhere, platform_wide, showing

SICK = timedelta(hours=24)
"""A node that had a fault of its hardware is suspected for so long."""
OTHERS = 2
"""Failures of so many other jobs, of so many users, make a node suspect."""
PASSING = 4
"""So often in a row, without any progress, may come what is held to pass."""
WANDERS = 2
"""So many nodes in a row may really be broken in the same way."""
_PROVED = {Source.ORDER, Source.NODE, Source.KERNEL}


@dataclass(frozen=True, slots=True)
class Past:
    """faults: what is remembered with this failure in it. again: it came before, without progress.

    telling: the fingerprint is of something that was read, not of an exit code alone.
    """

    faults: Faults
    again: bool
    telling: bool


def past_of(view: View, fingerprint: str, *, telling: bool) -> Past:
    """Return what the job's own history says of a fingerprint."""
    failure = view.failure
    nodes = {worker.node for worker in failure.workers}
    known = failure.faults
    step = failure.step if failure.step is not None else (known.step if known else 0)
    faults = after_failure(known, fingerprint, step, nodes)
    return Past(faults, faults.count > 1, telling)


def judged_by_history(
    cause: Cause, view: View, past: Past
) -> tuple[Cause, tuple[EvidenceLine, ...]]:
    """Return the cause as the history has it, and the lines that say why."""
    for look in (
        _sick_node,
        _goes_on_everywhere,
        _sure_to_come_again,
        _wanders,
        _keeps_coming,
        _others_on_the_node,
        _again_on_the_node,
    ):
        changed = look(cause, view, past)
        if changed is not None:
            return changed
    return cause, ()


Changed = tuple[Cause, tuple[EvidenceLine, ...]] | None


def _line(rule: str, text: str, node: str | None = None) -> tuple[EvidenceLine, ...]:
    return (EvidenceLine(source=Source.HISTORY, rule=rule, text=text, node=node),)


def _sick_node(cause: Cause, view: View, past: Past) -> Changed:
    """Memory of a GPU that is out at the first barrier, where its hardware failed just before."""
    if not (cause.rule or "").startswith("gpu.oom") or not early(view):
        return None
    at = view.failure.at
    for node in _nodes_of_cause(cause, view):
        for rule in _hardware_faults(view, node, at):
            changed = replace(
                cause,
                blame=Blame.HARDWARE,
                kind=Kind.TRANSIENT,
                action=Action.EXCLUDE,
                nodes=(node,),
                advice=None,
                what=Advice(
                    en=f"GPU memory is out on {node}, where {rule} was seen just before",
                    zh=f"节点 {node} 显存不足，而该节点刚出现过 {rule}",
                ),
            )
            return changed, _line("history.sick_node", rule, node)
    return None


def _nodes_of_cause(cause: Cause, view: View) -> tuple[str, ...]:
    """Return where the cause shows, if that is one node: many sick nodes at once are none."""
    nodes = {worker.node for worker in showing(view, cause)} | ({cause.node} - {None})
    return tuple(node for node in nodes if node) if len(nodes) == 1 else ()


def _hardware_faults(view: View, node: str, at: datetime) -> Iterator[str]:
    """Yield what was held to be this node's hardware lately, of this job and of others."""
    record = _record(view, node)
    seen = [*(record.last if record else ())]
    seen += [(e.rule, e.at) for e in view.failure.earlier if e.rule and e.node == node]
    for rule_id, when in seen:
        rule = view.book.rule(rule_id)
        if rule is not None and rule.blame is Blame.HARDWARE and at - when <= SICK:
            yield rule_id


def _record(view: View, node: str) -> NodeRecord | None:
    return next((record for record in view.failure.records if record.node == node), None)


def _sure_to_come_again(cause: Cause, view: View, past: Past) -> Changed:
    """The same on other nodes without any progress: deterministic, whatever the rule says."""
    if not (past.telling and past.again and past.faults.disjoint) or not _can_be_own(cause, view):
        return None
    if cause.action is Action.STOP or platform_wide(view.failure.elsewhere):
        return None
    storage = cause.blame is Blame.STORAGE
    changed = replace(
        cause,
        blame=cause.blame if storage or cause.blame is Blame.DATA else Blame.USER,
        kind=Kind.DETERMINISTIC,
        action=Action.HOLD if storage or cause.action is Action.HOLD else Action.STOP,
        nodes=(),
        confidence=max(cause.confidence, 0.9),
    )
    return changed, _line("history.disjoint", f"x{past.faults.count}")


def _goes_on_everywhere(cause: Cause, view: View, past: Past) -> Changed:
    """Other jobs fail alike on other nodes: none of the nodes is to blame, and leaving helps not.

    What a machine itself reported stays its own.
    """
    if cause.action not in LEAVES or cause.source in _PROVED:
        return None
    elsewhere = view.failure.elsewhere
    if not everywhere(elsewhere, cause.nodes):
        return None
    changed = replace(cause, action=Action.RETRY, nodes=())
    return changed, _line("history.everywhere", f"{elsewhere.jobs}/{elsewhere.users}")


def _wanders(cause: Cause, view: View, past: Past) -> Changed:
    """The same is blamed on one node after another, without any progress: on none of them rightly.

    A person must look: neither the job nor any node is proved to be the cause. Nor where nodes take
    turns: a word of the job's own output alone cannot move it for ever.
    """
    if cause.action not in LEAVES or cause.source in _PROVED:
        return None
    blamed = {each.node for each in _row(cause, view) if each.node}
    turns = len(blamed) > 1 and bool(set(cause.nodes) & blamed)
    if not turns and len(blamed | set(cause.nodes)) <= WANDERS:
        return None
    changed = replace(cause, blame=Blame.UNKNOWN, kind=Kind.EITHER, action=Action.HOLD, nodes=())
    return changed, _line("history.wanders", f"x{past.faults.count}")


def _row(cause: Cause, view: View) -> Iterator[Earlier]:
    """Yield the failures by the same rule just before this one, as far as none made progress.

    By the rule and not by the fingerprint: words that change each time make no other failure.
    """
    row: list[Earlier] = []
    best = -1
    for each in view.failure.earlier:
        if each.rule != cause.rule or each.step > best:
            row = []
        if each.rule == cause.rule:
            row.append(each)
        best = max(best, each.step)
    if view.failure.step is None or view.failure.step <= best:
        yield from row


def _keeps_coming(cause: Cause, view: View, past: Past) -> Changed:
    """What was held to pass has not passed after so many times, each after a longer wait."""
    passing = cause.blame.infrastructure and cause.source in {Source.LOG, Source.POD}
    if not passing or not past.telling or past.faults.count <= PASSING:
        return None
    if platform_wide(view.failure.elsewhere) or view.failure.hung is not None:
        return None
    changed = replace(cause, kind=Kind.EITHER, action=Action.HOLD, nodes=())
    return changed, _line("history.keeps_coming", f"x{past.faults.count}")


def _can_be_own(cause: Cause, view: View) -> bool:
    """Tell whether a failure that comes again can be the job's own at all."""
    if view.failure.hung is not None or cause.source in _PROVED:
        return False
    if cause.source is Source.POD and cause.blame.infrastructure:
        return view.stage is Stage.CREATE
    return cause.action is not Action.CORDON


def _others_on_the_node(cause: Cause, view: View, past: Past) -> Changed:
    """What nobody can explain, on a node where other users' jobs failed: the node."""
    open_to_doubt = cause.rule is None or cause.blame is Blame.UNKNOWN
    nodes = _nodes_of_cause(cause, view)
    if not open_to_doubt or not nodes or view.failure.hung is not None:
        return None
    record = _record(view, nodes[0])
    if record is None or ((record.users < OTHERS or record.jobs < OTHERS) and not record.suspected):
        return None
    return _to_the_node(
        cause, view, nodes[0], "history.other_jobs", f"{record.jobs}/{record.users}"
    )


def _again_on_the_node(cause: Cause, view: View, past: Past) -> Changed:
    """A passing fault that comes again where it was: not passing there."""
    nodes = _nodes_of_cause(cause, view)
    passing = cause.rule is not None and cause.kind is Kind.TRANSIENT
    own = cause.blame in {Blame.USER, Blame.DATA} or cause.source in _PROVED
    known = view.failure.faults
    if not past.again or not passing or own or not nodes or len(view.failure.workers) < 2:
        return None
    if (
        known is None
        or nodes[0] not in known.nodes
        or cause.action
        not in {
            Action.RETRY,
            Action.IN_PLACE,
        }
    ):
        return None
    return _to_the_node(cause, view, nodes[0], "history.again_here", f"x{past.faults.count}")


def _to_the_node(cause: Cause, view: View, node: str, rule: str, text: str) -> Changed:
    if everywhere(view.failure.elsewhere, (node,)):
        return None
    infrastructure = cause.blame.infrastructure
    changed = replace(
        cause,
        blame=cause.blame if infrastructure else Blame.HARDWARE,
        kind=Kind.TRANSIENT,
        action=Action.EXCLUDE,
        nodes=(node,),
        confidence=max(cause.confidence, 0.6),
    )
    return changed, _line(rule, text, node)
