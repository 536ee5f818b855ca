"""How a pretended worker behaves, what it prints, and which signs of life it shows. Pure.

`cluster` lets workers live by their scripts; an executor's backend shows what comes of it.
"""

from __future__ import annotations

from dataclasses import dataclass

WORKING = "working"


@dataclass(frozen=True, slots=True)
class Vitals:
    """Signs of life. cpu: CPU seconds in a second. moves: bytes in a second. gpu: share busy, 0-1.

    state: as the kernel has it. stack: where it stands; who is WORKING stands nowhere twice.
    """

    cpu: float = 1.0
    state: str = "R"
    moves: int = 1_000_000
    gpu: float | None = None
    watts: float | None = None
    stack: str = WORKING


STUCK = Vitals(cpu=0.0, state="S", moves=0, stack="stuck")


@dataclass(frozen=True, slots=True)
class Script:
    """How a worker behaves. Times are seconds; None = never.

    start_s: until it is up. run_s: from then until it ends by itself with exit_code. stop_s: from
    the stop signal to its end with stop_code (None: it ignores it). kill_s: from the kill to
    its end (None: nothing ends it). refused: why it cannot be started at all.

    step_s: it tells a step each so many seconds, from first_step on, until stuck_s; pulse_s: and a
    line that says nothing, until its end. prints: (seconds after it is up, line). last_words: what
    it prints when it ends by itself. reason, message: how the cluster words its end. vitals:
    until stuck_s; stuck: from then on.
    """

    start_s: float | None = 1.0
    run_s: float | None = None
    exit_code: int = 0
    stop_s: float | None = 1.0
    stop_code: int = 143
    kill_s: float | None = 0.1
    refused: str | None = None
    step_s: float | None = None
    first_step: int = 1
    stuck_s: float | None = None
    pulse_s: float | None = None
    prints: tuple[tuple[float, str], ...] = ()
    last_words: str = ""
    reason: str = ""
    message: str = ""
    vitals: Vitals = Vitals()
    stuck: Vitals = STUCK

    @property
    def silent(self) -> bool:
        """Whether it prints nothing, whatever happens."""
        return not (self.step_s or self.pulse_s or self.prints or self.last_words)


def output_of(script: Script, ran: float | None, *, over: bool) -> str:
    """Return what a worker has printed that has run for so long. over: it ended by itself."""
    if ran is None or script.silent:
        return ""
    moving = ran if script.stuck_s is None else min(ran, script.stuck_s)
    lines = [(at, line) for at, line in script.prints if at <= ran]
    if script.step_s:
        count = int(moving / script.step_s)
        lines += [
            ((n + 1) * script.step_s, f"step={script.first_step + n} loss=1.0")
            for n in range(count)
        ]
    if script.pulse_s:
        lines += [(n * script.pulse_s, "PULSE") for n in range(1, int(ran / script.pulse_s) + 1)]
    text = "".join(f"{line}\n" for _, line in sorted(lines, key=lambda each: each[0]))
    return f"{text}{script.last_words}" if over else text


def vitals_over(script: Script, ran: float) -> tuple[float, float, Vitals]:
    """Return CPU seconds and bytes moved of a worker that has run for so long, and how it is."""
    moving = ran if script.stuck_s is None else min(ran, script.stuck_s)
    held, well, stuck = ran - moving, script.vitals, script.stuck
    cpu = moving * well.cpu + held * stuck.cpu
    moved = moving * well.moves + held * stuck.moves
    return cpu, moved, stuck if held > 0 else well
