"""What a run of notices came to, as one line to print."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from statistics import quantiles

from benchmarks.notices_bot import Seen
from benchmarks.notices_jobs import WORDS, Told
from muster.notifier.core.notice import Trigger


@dataclass(frozen=True, slots=True)
class Figures:
    """lost, twice: of what is to be told. disordered: jobs told of in another order than it was.

    repeats: messages that came again; unmarked: of these, without saying so. late: seconds from
    the event to the bot.
    """

    notices: int
    messages: int
    lost: int
    twice: int
    disordered: int
    repeats: int
    unmarked: int
    late: tuple[float, ...]

    def line(self, case: str, **more: object) -> dict[str, object]:
        """Return the figures, to print."""
        cuts = quantiles(self.late, n=100) if len(self.late) > 1 else [0.0] * 99
        return {
            "bench": "notices",
            "case": case,
            "notices": self.notices,
            "messages": self.messages,
            "lost": self.lost,
            "twice": self.twice,
            "disordered": self.disordered,
            "repeats": self.repeats,
            "unmarked": self.unmarked,
            "p50_s": round(cuts[49], 2),
            "p99_s": round(cuts[98], 2),
            **more,
        }


def figures(told: Sequence[Told], triggers: Collection[Trigger], seen: Seen) -> Figures:
    """Compare what happened with what a person has read."""
    wanted: dict[str, list[str]] = defaultdict(list)
    happened: dict[str, list[float]] = defaultdict(list)
    for each in sorted(told, key=lambda each: each.at):
        for trigger in each.triggers:
            if trigger in triggers:
                wanted[each.job].append(WORDS[trigger])
                happened[each.job].append(each.at.timestamp())
    found = {job: seen.words.get(job, []) for job in wanted}
    same = [job for job in wanted if found[job] == wanted[job]]
    late = (at - then for job in same for at, then in zip(seen.at[job], happened[job], strict=True))
    return Figures(
        notices=sum(map(len, wanted.values())),
        messages=seen.messages,
        lost=sum((Counter(wanted[job]) - Counter(found[job])).total() for job in wanted),
        twice=sum((Counter(found[job]) - Counter(wanted[job])).total() for job in wanted),
        disordered=sum(
            Counter(found[job]) == Counter(wanted[job]) and found[job] != wanted[job]
            for job in wanted
        ),
        repeats=seen.twice,
        unmarked=seen.twice - seen.marked,
        late=tuple(late),
    )
