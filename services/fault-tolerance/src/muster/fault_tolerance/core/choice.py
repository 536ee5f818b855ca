"""Which sign is the cause: the order of evidence. Pure.

Our own orders, then what the cluster says of pods and nodes, then the kernel's lines around the
failure, then the output of the worker that failed first, then exit codes. A line that reports on
others only says whom to look at, and a line of the teardown is never a cause.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from muster.domain.diagnosis import Action, Blame, Source, Stage
from muster.domain.evidence import Scope, WorkerEvidence
from muster.domain.nodes import NodeCondition
from muster.fault_tolerance.core import cause as causes
from muster.fault_tolerance.core.cause import Cause
from muster.fault_tolerance.core.failure import Failure
from muster.fault_tolerance.core.passing import speaks_of_outside
from muster.fault_tolerance.core.ranking import TIE, TOGETHER, has_ended, named_peers
from muster.fault_tolerance.core.roots import decisiveness, root_of
from muster.fault_tolerance.core.rules import Role, Rulebook
from muster.fault_tolerance.core.signs import Sign, Signs, ended_at

QUICK_S = 30
"""A run that ended so soon had not begun its work: its exit code may speak of the command."""
_OUT = {NodeCondition.LOST, NodeCondition.FENCED, NodeCondition.GONE}
_ALL = 4096
FULL = frozenset({"fs.enospc", "fs.edquot"})
"""A full disk or quota: whoever meets it first may call it something else."""


@dataclass(frozen=True, slots=True)
class View:
    """A failure as it is weighed. order: the workers that failed, the first one first."""

    failure: Failure
    book: Rulebook
    signs: Signs
    order: tuple[WorkerEvidence, ...]
    stage: Stage | None

    @property
    def first(self) -> WorkerEvidence | None:
        """The worker that failed first."""
        return self.order[0] if self.order else None

    def together(self) -> Iterator[WorkerEvidence]:
        """Yield the workers that failed with the first one, or as good as."""
        begin = ended_at(self.order[0]) if self.order else None
        for worker in self.order:
            end = ended_at(worker)
            if begin is None or end is None or end - begin <= TOGETHER:
                yield worker

    def root(self, worker: WorkerEvidence) -> Sign | None:
        """Return the cause in a worker's output."""
        told = self.signs.logs.get(worker.worker, ())
        return root_of(told, worker.tail, self.stage, worker.exit_code)


def decides(sign: Sign) -> bool:
    """Tell whether a rule needs no second signal."""
    return sign.rule.action not in {Action.WATCH, Action.IGNORE}


def choose(view: View) -> Cause:
    """Return the cause; `unknown` where nothing tells it."""
    for look in _LOOKS:
        found = look(view)
        if found is not None:
            return found
    return causes.unknown(view.first, view.failure.hung)


def _order(view: View) -> Cause | None:
    return causes.ordered(view.failure.order) if view.failure.order else None


def _lost(view: View) -> Cause | None:
    gone = {w.node for w in view.failure.workers if w.cause == "node_lost"}
    gone |= {n.node for n in view.failure.nodes if n.condition in _OUT}
    if not gone:
        return None
    there = next((w for w in view.failure.workers if w.node in gone), None)
    return causes.lost(tuple(sorted(gone)), there)


def _pod(view: View) -> Cause | None:
    """What the cluster says of the first worker; of another one, if it ended together with it."""
    for worker in view.together():
        roots = [s for s in view.signs.pods.get(worker.worker, ()) if _may_be(view, s, worker)]
        decided = [s for s in roots if decides(s)]
        if decided:
            return causes.of_sign(min(decided, key=_pod_rank))
    return None


def _pod_rank(sign: Sign) -> tuple[bool, int]:
    return sign.rule.weak, decisiveness(sign)


def _may_be(view: View, sign: Sign, worker: WorkerEvidence) -> bool:
    return sign.root and sign.rule.holds_at(view.stage, worker.exit_code)


def _node(view: View) -> Cause | None:
    """What stands in the kernel's log or the cluster's events about one of its nodes.

    The node of the worker that failed first is looked at first.
    """
    order = {worker.node: place for place, worker in reversed([*enumerate(view.order)])}
    roots = (s for s in view.signs.nodes if s.root and s.rule.holds_at(view.stage))
    decided = [s for s in roots if decides(s)]
    if not decided:
        return None
    return causes.of_sign(
        min(decided, key=lambda s: (order.get(s.node or "", _ALL), decisiveness(s)))
    )


def _reclaimed(view: View) -> Cause | None:
    taken = (n.node for n in view.failure.nodes if n.condition is NodeCondition.RECLAIMING)
    node = next(taken, None)
    return causes.reclaimed(node) if node else None


def _complete(view: View) -> Cause | None:
    if not view.failure.complete or view.first is None or view.first.exit_code == 0:
        return None
    return causes.after_success(view.first)


def _left_alone(view: View) -> Cause | None:
    """Exit code 0 although something is wrong: alone, or with a cause in the output."""
    first = view.first
    if first is None or first.exit_code != 0:
        return None
    others = [w for w in view.failure.workers if not has_ended(w)]
    if others or view.failure.exited:
        return causes.left_alone(first, _exit_sign(view, first, "exit=0 gang=partial"))
    if view.failure.complete:
        return causes.ended_well()
    if not any(view.root(w) for w in view.order):
        return None
    sign = _exit_sign(view, first, "exit=0 tail=root_candidate")
    return causes.of_sign(sign) if sign else None


def _exit_sign(view: View, worker: WorkerEvidence, text: str) -> Sign | None:
    hits = [hit for hit in view.book.read(Scope.EXIT, text) if not hit.rule.shadow]
    return Sign(Source.EXIT, hits[0], worker.worker, worker.node) if hits else None


def _output(view: View) -> Cause | None:
    """The cause in the output of the first worker; failing that, of one that failed with it."""
    roots = [(w, s) for w in view.together() if (s := view.root(w)) and _counts(view, w, s)]
    if not roots:  # reports of others may be faster than the one whose fault it was
        late = (s for w in view.order if (s := view.root(w)) and _counts(view, w, s))
        sign = next(late, None)
        return causes.of_sign(sign, certain=0.7) if sign else None
    worker, sign = min(roots, key=lambda found: found[1].rule.weak)
    if sign.rule.blame is Blame.STORAGE:
        sign = next((s for _, s in roots if s.rule.id in FULL), sign)
    return causes.of_sign(sign, certain=1.0 if worker is view.first else 0.85)


def _counts(view: View, worker: WorkerEvidence, sign: Sign) -> bool:
    """What says little counts of those that failed first: of the others, it follows from that."""
    if not decides(sign) or not sign.rule.weak:
        return decides(sign)
    begin, end = ended_at(view.order[0]), ended_at(worker)
    return begin is None or end is None or end - begin <= TIE


def _proved(view: View) -> Cause | None:
    """Two signs of different sources that each only support a cause prove it together."""
    for worker in view.together():
        seen = [*_of_worker(view, worker), *(s for s in view.signs.nodes if s.node == worker.node)]
        supports = [s for s in seen if s.rule.role in {Role.CONFIRM, Role.ROOT}]
        for sign in supports:
            if not decides(sign) or sign.source is Source.EXIT:
                continue
            if any(other.source is not sign.source for other in supports):
                return causes.of_sign(
                    Sign(sign.source, sign.hit, worker.worker, worker.node, sign.at)
                )
    return None


def _of_worker(view: View, worker: WorkerEvidence) -> Iterable[Sign]:
    signs = view.signs
    for of in (signs.pods, signs.logs, signs.exits):
        yield from of.get(worker.worker, ())


def _peer(view: View) -> Cause | None:
    """Only reports on others: the one that most of them name is looked at, never who reports."""
    reporters = {w: told for w, told in view.signs.logs.items() if any(s.hit.peer for s in told)}
    named = named_peers(view.failure, view.signs)
    if not named:
        return None
    (peer, count), *rest = named.most_common(2)
    others = len(view.failure.workers) - 1
    tied = bool(rest) and rest[0][1] == count
    if tied or count * 2 < len(reporters) or count < min(2, others) or peer in reporters:
        return None
    worker = next(w for w in view.failure.workers if w.worker == peer)
    if _left_by_itself(view, worker, reporters):
        return None
    sign = next(s for told in reporters.values() for s in told if s.hit.peer)
    return causes.gone_peer(worker, sign, count)


def _left_by_itself(view: View, worker: WorkerEvidence, reporters: Iterable[str]) -> bool:
    """Tell whether a worker ended before the others spoke of it: then they only saw it end."""
    end = ended_at(worker)
    if worker.cause != "exited" or worker.exit_code is None or end is None:
        return False
    ends = (ended_at(w) for w in view.failure.workers if w.worker in set(reporters))
    return all(other is None or end < other for other in ends)


def _exit(view: View) -> Cause | None:
    """An exit code that speaks of the command, where the run had not begun its work."""
    first = view.first
    if first is None:
        return None
    quick = view.failure.ran_s is not None and view.failure.ran_s < QUICK_S
    early = view.stage in {None, Stage.CREATE, Stage.INIT}
    for sign in view.signs.exits.get(first.worker, ()):
        certain = (quick and not speaks_of_outside(first)) or (
            early and first.exit_code in {126, 127}
        )
        if sign.rule.action is Action.STOP and certain:
            return causes.of_sign(sign)
    watched = next((s for s in view.signs.logs.get(first.worker, ()) if s.root), None)
    return causes.of_sign(watched) if watched else None


_LOOKS = (
    _order,
    _lost,
    _pod,
    _node,
    _complete,
    _left_alone,
    _output,
    _reclaimed,
    _proved,
    _peer,
    _exit,
)
