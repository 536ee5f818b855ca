"""A small training that really learns, and behaves as a training job should.

Several processes share each step (RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, as torchrun sets
them), rank 0 writes checkpoints to MUSTER_CHECKPOINT_DIR, and whoever starts it again goes on from
the newest one. SIGTERM stops all ranks after the same step with a fresh checkpoint. This file puts
the pieces together and prints; the pieces themselves are in the modules beside it.

Exit codes: 0 finished, 2 cannot start as configured, 7 --fail-at, 75 a peer was lost,
143 stopped when asked to.
"""

import io
import os
import sys
import time
from pathlib import Path

# Before numpy is loaded: a worker uses one core, and several of them share a machine.
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import checkpoints
import learner
from gang import Gang, join
from joining import PeerLost, Place
from options import Options, parse, path_in
from stopping import Stopped, StopRequest

FINISHED = 0
MISCONFIGURED = 2
FAILED_ON_PURPOSE = 7
PEER_LOST = 75


class Store:
    """Rank 0's checkpoints; does nothing when MUSTER_CHECKPOINT_DIR is not set."""

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory
        self._saved = -1

    def newest(self, seed: int) -> learner.State:
        """Where to begin; OSError, or ValueError when the checkpoint is of another training."""
        if self._directory is None:
            return learner.initial(seed)
        found = checkpoints.load_newest(self._directory)
        for path in found.damaged:
            print(f"checkpoint damaged: set aside as {path}")
        if found.path is None:
            return learner.initial(seed)
        state = learner.from_arrays(found.arrays)
        if state.seed != seed:
            raise ValueError(f"{found.path} was made with --seed {state.seed}, not {seed}")
        print(f"checkpoint loaded: step={state.step} path={found.path}")
        self._saved = state.step
        return state

    def save(self, state: learner.State) -> None:
        """A failure is reported, not raised: a full disk should not end what still learns."""
        if self._directory is None or state.step == self._saved:
            return
        content = checkpoints.encode(learner.to_arrays(state))
        try:
            path = checkpoints.save(self._directory, state.step, content)
        except OSError as error:
            print(f"checkpoint failed: step={state.step} error={error}")
            return
        self._saved = state.step
        print(f"checkpoint saved: step={state.step} path={path}")


class Report:
    """The lines that people and parsers read: the form of their beginning must not change."""

    def __init__(self, every: int) -> None:
        self._every = every
        self._samples = 0.0
        self._since = time.monotonic()

    def step(self, step: int, measured: learner.Measured, last: bool) -> None:
        self._samples += measured.count
        if step % self._every and not last:
            return
        now = time.monotonic()
        speed = self._samples / max(now - self._since, 1e-9)
        self._samples, self._since = 0.0, now
        print(
            f"step={step} loss={measured.mean_loss:.6f} lr={learner.rate(step):.6f} "
            f"samples/s={speed:.0f} accuracy={measured.accuracy:.4f}"
        )


class Training:
    """One rank's way from its first step to its last."""

    def __init__(self, options: Options, place: Place, stop: StopRequest, store: Store) -> None:
        self._options = options
        self._me = place.me
        self._stop = stop
        self._store = store
        self._report = Report(options.report_every)

    def run(self, gang: Gang, state: learner.State) -> int:
        """Train from this state to the end or to a stop; the exit code."""
        samples = learner.spirals(state.seed)
        try:
            while state.step < self._options.steps:
                if self._must_fail(state.step + 1):
                    return FAILED_ON_PURPOSE
                state, stop = self._one_step(gang, state, samples)
                if stop and state.step < self._options.steps:
                    return self._stopped(gang, state)
        except PeerLost as lost:
            if not gang.stopping():
                gang.leave(str(lost))
                raise
            return self._stopped(gang, state, str(lost))
        return self._finished(gang, state)

    def _one_step(
        self, gang: Gang, state: learner.State, samples: learner.Samples
    ) -> tuple[learner.State, bool]:
        """The state after the next step, and whether to stop there."""
        not_before = time.monotonic() + self._options.step_time
        chosen = learner.share(state, self._me.rank, self._me.world_size)
        mine = learner.measure(state.parameters, samples, chosen)
        outcome = gang.add_up(learner.pack(mine), not_before)
        everyones = learner.unpack(outcome.total)
        state = learner.advance(state, everyones)
        if self._me.rank == 0:
            self._report.step(
                state.step, everyones, outcome.stop or state.step == self._options.steps
            )
            if state.step % self._options.checkpoint_every == 0:
                self._store.save(state)
        return state, outcome.stop

    def _must_fail(self, step: int) -> bool:
        """Only the last rank, and only in the first attempt: the next one gets past the place."""
        me = self._me
        if step != self._options.fail_at or me.attempt > 1 or me.rank != me.world_size - 1:
            return False
        complain(me.rank, f"failing on purpose at step {step} (--fail-at)")
        return True

    def _stopped(self, gang: Gang, state: learner.State, trouble: str = "") -> int:
        """Save the last whole step, even when a peer did not live to see the stop."""
        if trouble:
            complain(self._me.rank, f"a peer was lost while stopping: {trouble}")
        if self._me.rank == 0:
            self._store.save(state)
        deadline = self._stop.deadline
        until = f" deadline={deadline.isoformat()}" if deadline else ""
        print(f"stopped: after_step={state.step} reason={self._stop.reason}{until}")
        gang.leave(trouble)
        return self._stop.exit_code

    def _finished(self, gang: Gang, state: learner.State) -> int:
        if self._me.rank == 0:
            self._store.save(state)
        print(f"finished: steps={state.step}")
        gang.leave()
        return FINISHED


def complain(rank: int, text: str) -> None:
    print(f"rank {rank}: {text}", file=sys.stderr)


def train(options: Options, place: Place, stop: StopRequest) -> int:
    """Load, meet the others, begin where rank 0 begins."""
    me = place.me
    print(
        f"training: rank={me.rank} world_size={me.world_size} attempt={me.attempt} "
        f"steps={options.steps} seed={options.seed}"
    )
    store = Store(path_in("MUSTER_CHECKPOINT_DIR"))
    try:
        state = store.newest(options.seed) if me.rank == 0 else learner.initial(options.seed)
    except (OSError, ValueError) as error:
        complain(me.rank, f"cannot load a checkpoint: {error}")
        return MISCONFIGURED
    gang = join(place, learner.add, stop.asked)
    content = gang.begin(checkpoints.encode(learner.to_arrays(state)))
    state = learner.from_arrays(checkpoints.decode(content))
    print(f"joined: all {me.world_size} ranks begin after_step={state.step}")
    return Training(options, place, stop, store).run(gang, state)


def main(arguments: list[str]) -> int:
    """Run one rank; the exit code."""
    options = parse(arguments)
    stop = StopRequest(path_in("MUSTER_STOP_FILE"))
    stop.listen()
    try:
        place = Place.from_environment(options.join_timeout, options.peer_timeout)
    except ValueError as error:
        print(f"cannot start: {error}", file=sys.stderr)
        return MISCONFIGURED
    try:
        return train(options, place, stop)
    except Stopped:
        print(f"stopped: before the first step, reason={stop.reason}")
        return stop.exit_code
    except PeerLost as lost:
        complain(place.me.rank, f"a peer was lost: {lost}")
        return stop.exit_code if stop.asked() else PEER_LOST


if __name__ == "__main__":
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)
    sys.exit(main(sys.argv[1:]))
