"""The same text may have another cause: stage, spread and wording change what a rule says. Pure.

Each function takes a cause and returns it, changed where its own case applies.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from muster.domain.diagnosis import Action, Advice, Blame, Kind, Source, Stage
from muster.fault_tolerance.core.cause import Cause
from muster.fault_tolerance.core.choice import View
from muster.fault_tolerance.core.narrowed import LEAVES, in_a_library_of_one, narrowed
from muster.fault_tolerance.core.ranking import named_peers
from muster.fault_tolerance.core.spread import showing

EARLY_S = 600
"""Where no step is known, a run that was over so soon is held to have made none."""
LEAK_S = 7200
"""Memory that lasted so long was enough at first: a leak, or one long sample."""
_BEGUN = {Stage.TRAIN, Stage.CHECKPOINT, Stage.EVALUATION}
_OVER_REQUEST = re.compile(
    r"[Cc]ontainer \S+ was using \S+, (?:which exceeds its request|request is (?!0\b))"
)
MEMORY = Advice(
    en="raise resource.memory_mib_per_replica, or load less data into memory",
    zh="请调大 resource.memory_mib_per_replica，或减少加载到内存的数据",
    field="resource.memory_mib_per_replica",
)


def early(view: View) -> bool:
    """Tell whether the attempt had not made a step."""
    if view.stage is not None:
        return view.stage in {Stage.CREATE, Stage.INIT}
    ran = view.failure.ran_s
    return ran is not None and ran < EARLY_S


def refined(cause: Cause, view: View) -> Cause:
    """Return the cause as this failure's circumstances have it."""
    for look in (narrowed, *_LOOKS):
        cause = look(cause, view)
    return cause


def _before_any_step(cause: Cause, view: View) -> Cause:
    """What the program's own code raises before its first step, it raises again."""
    own = cause.blame is Blame.USER and cause.source is Source.LOG
    if not own or cause.action is not Action.RETRY_ONCE or not early(view):
        return cause
    if in_a_library_of_one(cause, view):
        return replace(cause, blame=Blame.UNKNOWN)
    return replace(cause, action=Action.STOP, kind=Kind.DETERMINISTIC)


def _gpu_memory(cause: Cause, view: View) -> Cause:
    """GPU memory that was enough for many steps of training may be enough again."""
    if not (cause.rule or "").startswith("gpu.oom") or view.stage not in _BEGUN:
        return cause
    if view.stage is Stage.EVALUATION:  # what is evaluated is the same every time
        return replace(cause, kind=Kind.DETERMINISTIC, action=Action.STOP, nodes=())
    return replace(cause, blame=Blame.USER, kind=Kind.EITHER, action=Action.RETRY_ONCE, nodes=())


def _memory_that_lasted(cause: Cause, view: View) -> Cause:
    memory = cause.rule in {"pod.oomkilled", "kern.oom_cgroup", "host.oom_python"}
    ran = view.failure.ran_s
    if not memory or ran is None or ran < LEAK_S or view.stage not in _BEGUN:
        return cause
    return replace(cause, kind=Kind.EITHER, action=Action.RETRY_ONCE)


def _whose_eviction(cause: Cause, view: View) -> Cause:
    """A node that is short of memory evicts; who took more than was asked for is named."""
    worker = next((w for w in view.order if w.worker == cause.worker), None)
    pressed = cause.source is Source.POD and cause.blame is not Blame.USER
    if worker is None or not pressed or not _OVER_REQUEST.search(worker.message):
        return cause
    return replace(
        cause,
        blame=Blame.USER,
        kind=Kind.EITHER,
        action=Action.RETRY_ONCE,
        nodes=(),
        advice=MEMORY,
    )


def _named_peer(cause: Cause, view: View) -> Cause:
    """A fault of the network that several report of one worker is that one's."""
    if cause.blame is not Blame.NETWORK or cause.action not in LEAVES or cause.sign is None:
        return cause
    named = named_peers(view.failure, view.signs).most_common(2)
    if not named or named[0][1] < 2 or (len(named) > 1 and named[1][1] == named[0][1]):
        return cause
    node = next((w.node for w in view.failure.workers if w.worker == named[0][0]), None)
    return replace(cause, nodes=(node,)) if node else cause


def _no_single_node(cause: Cause, view: View) -> Cause:
    """What many nodes show at the same moment is no fault of one of them."""
    if cause.source is not Source.LOG or cause.action not in LEAVES:
        return cause
    seen = {worker.node for worker in showing(view, cause)}
    gang = {worker.node for worker in view.failure.workers}
    if len(seen) < 2 or len(seen) * 2 <= len(gang):
        return cause
    if not seen & set(cause.nodes):  # they all speak of another one
        return cause
    if cause.blame is not Blame.HARDWARE:
        return replace(cause, action=Action.RETRY, nodes=())
    if seen == gang and early(view) and cause.action is Action.EXCLUDE:
        return replace(
            cause, blame=Blame.USER, kind=Kind.DETERMINISTIC, action=Action.STOP, nodes=()
        )
    return replace(cause, blame=Blame.UNKNOWN, action=Action.RETRY_ONCE, nodes=())


def _no_checkpoint_left(cause: Cause, view: View) -> Cause:
    """A broken checkpoint is passed over, as long as there is a complete one."""
    folder = view.failure.checkpoint
    if cause.rule != "ckpt.corrupt" or folder is None or folder.newest is not None:
        return cause
    return replace(cause, kind=Kind.DETERMINISTIC, action=Action.HOLD)


_LOOKS: tuple[Callable[[Cause, View], Cause], ...] = (
    _before_any_step,
    _gpu_memory,
    _memory_that_lasted,
    _whose_eviction,
    _named_peer,
    _no_single_node,
    _no_checkpoint_left,
)
