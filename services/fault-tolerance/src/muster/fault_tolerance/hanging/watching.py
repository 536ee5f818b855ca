"""Looks at running jobs again and again; writes down a suspicion, or ends what hangs.

A loop of fault tolerance. Any number of replicas may do the same: only the append on condition
decides. What a replica has seen is lost when it restarts, and its windows begin anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import structlog

from muster.contracts import subjects
from muster.domain import facts as f
from muster.domain.demand import JobType
from muster.domain.diagnosis import Blame
from muster.domain.errors import Conflict, MusterError, Permanent, Temporary
from muster.domain.evidence import JobSignals
from muster.domain.nodes import NodeState
from muster.domain.spec import JobSpec
from muster.domain.state import JobState
from muster.fault_tolerance.core import hang_lines
from muster.fault_tolerance.core.attributed import marks_of
from muster.fault_tolerance.core.hang import Reading, Subject, Suspicion, judge
from muster.fault_tolerance.core.hang_arming import Unarmed, sleeps_on_purpose, unarmed
from muster.fault_tolerance.core.hang_pace import Learned
from muster.fault_tolerance.core.hang_track import Sample, Track, begin, observe
from muster.fault_tolerance.hanging.asking import STACKS, WORKERS, Asking, parts
from muster.fault_tolerance.hanging.settings import HangSettings
from muster.fault_tolerance.hanging.watch import Watch
from muster.fault_tolerance.surroundings import Surroundings
from muster.log import Recorded
from muster.runtime.journal import TRIES, Journal

OUTPUT_S = 60.0
"""The output of a silent job is looked at no more often."""
_STALLS = (Blame.STORAGE, Blame.NETWORK)
"""While one of these is the whole cluster's trouble, nobody's silence is his own."""

_LOG = structlog.get_logger("muster.fault_tolerance")


@dataclass(frozen=True, slots=True)
class Pool:
    """nodes: by name, those that are gone too. frozen: nothing destructive may be done there."""

    nodes: Mapping[str, NodeState]
    frozen: bool


class Watching:
    """`step` is a loop's turn; `reading` is for whoever asks."""

    def __init__(
        self, journal: Journal, asking: Asking, around: Surroundings, settings: HangSettings
    ) -> None:
        self._journal, self._asking, self._around = journal, asking, around
        self._settings = settings
        self._pace, self._marks = settings.pace, settings.marks
        self.watch = Watch(journal.log)
        self.tracks: dict[str, Track] = {}
        self._learned: dict[str, Learned] = {}
        self._specs: dict[str, JobSpec] = {}
        self._pools: dict[str, Pool] = {}
        self._output_at: dict[str, float] = {}
        self._told: dict[str, tuple[int, int | None, str]] = {}

    async def step(self) -> None:
        """Look at every watched job once."""
        await self._around.look()
        self._pools.clear()
        await self.watch.read()
        if not self.watch.caught_up:
            return
        self._forget(self.watch.take_over())
        for pool, states in self.watch.by_pool():
            armed = [state for state in states if await self._is_armed(state)]
            seen = await self._look_closely(pool, [s for s in armed if self._is_silent(s)])
            rest = [state for state in armed if state.job not in seen]
            for part in parts(rest, WORKERS):
                await self._look(pool, part, stacks=False)

    def _forget(self, jobs: set[str]) -> None:
        for kept in (self.tracks, self._learned, self._specs, self._output_at, self._told):
            for job in jobs:
                kept.pop(job, None)

    async def _is_armed(self, state: JobState) -> bool:
        if await self.unarmed(state) is None:
            return True
        track = self.tracks.pop(state.job, None)
        if track is not None:  # whatever it was silent for does not count when it is armed again
            self._learned[state.job] = track.learned
        return False

    async def unarmed(self, state: JobState) -> Unarmed | None:
        """Return why a job's silence is not judged now, None if it is."""
        if state.job not in self._specs:
            self._specs[state.job] = await self._spec(state)
        return self._unarmed_now(state)

    def _unarmed_now(self, state: JobState) -> Unarmed | None:
        spec, pool = self._specs[state.job], self._pool(state.pool)
        shapes = {n: pool.nodes[n].shape for n in state.held if n in pool.nodes}
        marks = marks_of(spec, shapes)
        return unarmed(
            state,
            pool.nodes,
            sleeps=sleeps_on_purpose(spec.command),
            incident=any(self._around.incident(blame, marks) for blame in _STALLS),
            frozen=pool.frozen,
        )

    def _pool(self, name: str) -> Pool:
        """Return how a pool is, as it was when this turn began."""
        if name not in self._pools:
            nodes = {n.node: n for n in self._around.known.every_node() if n.pool == name}
            self._pools[name] = Pool(nodes, self._around.frozen(name) is not None)
        return self._pools[name]

    async def _spec(self, state: JobState) -> JobSpec:
        subject = subjects.job_key(state.tenant, state.job).subject("submitted")
        first = await self._journal.log.last(subjects.Key(subject, whole=False))
        if first is None:
            raise Permanent(f"job {state.job} has no submitted event")
        spec: JobSpec = first.event.data.detail.spec
        return spec

    def _is_silent(self, state: JobState) -> bool:
        track = self.tracks.get(state.job)
        if track is None or track.attempt != state.attempt:
            return False
        least = self._settings.hang_stacks_after_s * self._settings.hang_scale
        return track.last.at - track.progress_at >= least

    # --- one look --------------------------------------------------------------------------------

    async def _look_closely(self, pool: str, states: Sequence[JobState]) -> set[str]:
        """Look at stacks, too; where that takes too long, a plain look must do this time."""
        seen: set[str] = set()
        for part in parts(states, STACKS):
            found = await self._look(pool, part, stacks=True)
            if found is None:
                break
            seen |= found
        return seen

    async def _look(
        self, pool: str, states: Sequence[JobState], *, stacks: bool
    ) -> set[str] | None:
        """Return which jobs were told of, None if nobody answered."""
        known = {state.job: state for state in states}
        told = await self._asking.signals(pool, states, stacks=stacks)
        if told is None:
            return None
        seen = {signals.job: signals for signals in told if signals.job in known}
        for job, signals in seen.items():
            try:
                await self._take(known[job], signals)
            except MusterError as error:  # the others are not to wait for this one
                _LOG.warning("hang not recorded", job=job, why=str(error))
        return set(seen)

    async def _take(self, state: JobState, signals: JobSignals) -> None:
        told = await self._collective(state)
        sample = Sample(self._journal.clock.monotonic(), signals, told)
        before = self.tracks.get(state.job)
        if before is None:
            track = begin(sample, self._learned.pop(state.job, None))
        else:
            track = observe(before, sample, gpus_of(state), self._pace, self._marks)
        self.tracks[state.job] = track
        reading = judge(track, self.subject(state, track), self._pace)
        if reading.suspicion is not None and track.attempt == state.attempt:
            await self._act(state, track, reading, reading.suspicion)

    def subject(self, state: JobState, track: Track) -> Subject:
        """Return what is known of a watched job itself."""
        assert state.demand.hang is not None
        step = state.progress.step if state.progress else 0
        return Subject(
            limits=state.demand.hang,
            gpus=gpus_of(state),
            tells=step > 0 or bool(track.learned.steps),
            together=state.demand.type is JobType.PYTORCH,
        )

    def reading(self, state: JobState) -> tuple[Track, Reading] | None:
        """Return how a watched job looks, None while it was not seen yet."""
        track = self.tracks.get(state.job)
        if track is None or track.attempt != state.attempt:
            return None
        return track, judge(track, self.subject(state, track), self._pace)

    async def _collective(self, state: JobState) -> bool | None:
        """Look into the output of one that is silent, from time to time."""
        now, last = self._journal.clock.monotonic(), self._output_at.get(state.job)
        due = last is None or now - last >= OUTPUT_S * self._settings.hang_scale
        if not self._is_silent(state) or not due:
            return None
        self._output_at[state.job] = now
        workers = hang_lines.shown_workers(state.placed_on, None)
        output = await self._asking.output(state, workers)
        return any(map(hang_lines.collective, output.values())) if output else None

    # --- a suspicion -----------------------------------------------------------------------------

    async def _act(self, state: JobState, track: Track, reading: Reading, found: Suspicion) -> None:
        place = (track.attempt, track.step, reading.stage)
        wanted = self.subject(state, track).limits.restart and not found.doubtful
        ends = found.exited or wanted
        if not ends and self._told.get(state.job) == place:
            return
        workers = hang_lines.shown_workers(state.placed_on, found.worker)
        output = await self._asking.output(state, workers)
        lines = hang_lines.described(found, reading, track.last.signals, output)
        if ends:
            await self._end(state, found, lines)
        else:
            await self._suspect(state, track, reading, lines)
            self._told[state.job] = place
        _LOG.warning("job hangs", job=state.job, attempt=state.attempt, seconds=found.seconds)

    async def _end(
        self, state: JobState, found: Suspicion, lines: tuple[hang_lines.Seen, ...]
    ) -> None:
        fact = f.Hung(
            evidence=tuple(line.en for line in lines),
            evidence_zh=tuple(line.zh for line in lines),
            seconds=found.seconds,
            worker=found.worker,
            exited=found.exited,
        )

        def decide(last: Recorded, now: datetime) -> f.Fact | None:
            return fact if self._still(state, last.job) else None

        await self._journal.advance(state.tenant, state.job, decide)

    def _still(self, state: JobState, last: JobState) -> bool:
        """Tell whether what was judged is what runs now, and is still to be judged."""
        return last.attempt == state.attempt and self._unarmed_now(last) is None

    async def _suspect(
        self, state: JobState, track: Track, reading: Reading, lines: tuple[hang_lines.Seen, ...]
    ) -> None:
        """Write it down once for each silence, whoever else has the same suspicion."""
        assert reading.suspicion is not None
        fact = f.HangSuspected(
            evidence=tuple(line.en for line in lines),
            evidence_zh=tuple(line.zh for line in lines),
            attempt=track.attempt,
            step=track.step,
            stage=reading.stage,
            seconds=reading.suspicion.seconds,
            worker=reading.suspicion.worker,
        )
        for _ in range(TRIES):
            last = await self._journal.job(state.tenant, state.job, leader=True)
            if last is None or not self._still(state, last.job):
                return
            if await self._is_told(state, fact):
                return
            try:
                await self._journal.record(self._journal.about_job(last, fact))
                return
            except Conflict:
                continue
        raise Temporary(f"job {state.job} is busy", delay=0.5)

    async def _is_told(self, state: JobState, fact: f.HangSuspected) -> bool:
        subject = subjects.job_key(state.tenant, state.job).subject(fact.event)
        last = await self._journal.log.last(subjects.Key(subject, whole=False), leader=True)
        if last is None:
            return False
        told: f.HangSuspected = last.event.data.detail
        return (told.attempt, told.step, told.stage) == (fact.attempt, fact.step, fact.stage)


def gpus_of(state: JobState) -> dict[str, int]:
    """Return the whole GPUs of one worker of each role; a shared card tells nothing of a job."""
    return {role.name: role.gpus for role in state.demand.roles}
