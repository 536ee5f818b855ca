"""The count of a search for victims is what a board says on which the same jobs are gone."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from muster.scheduler.core.amounts import Amounts, of_role
from muster.scheduler.core.board import Board, Taken
from muster.scheduler.core.jobs import JobKey
from muster.scheduler.core.placement import Asked
from muster.scheduler.core.rooms import Kind, Rooms
from muster.scheduler.core.tally import Tally
from tests.scheduler.worlds import role

MODEL = "A100"


def filled(dice: Random) -> tuple[Board, list[str], list[JobKey]]:
    """A board of jobs, some of which share cards or wait for others."""
    names = [f"n{number}" for number in range(dice.randint(1, 4))]
    board = Board({name: Amounts(8, 64_000, 9_000) for name in names})
    jobs: list[JobKey] = [("t", f"j{number}") for number in range(dice.randint(1, 8))]
    for place, job in enumerate(jobs):
        awaited = [one for one in jobs[:place] if dice.random() < 0.15]
        taken = {node: _taken(dice) for node in dice.sample(names, dice.randint(1, len(names)))}
        board.claim(job, taken, frozenset(awaited))
    return board, names, jobs


def _taken(dice: Random) -> Taken:
    shares = {dice.randint(0, 2): dice.choice([250, 500])} if dice.random() < 0.15 else {}
    return Taken(Amounts(dice.randint(0, 4), 4000, dice.choice([0, 1000])), shares)


def afresh(
    board: Board, names: list[str], asked: list[Asked], gone: set[JobKey], *, parts: bool
) -> bool:
    """Whether each role has enough places in one part, counted node by node."""
    totals: dict[str, list[int]] = {}
    for node in names:
        kind = Kind(board.free(node, frozenset(gone)), MODEL)
        total = totals.setdefault(node if parts else "", [0] * len(asked))
        for index, each in enumerate(asked):
            total[index] += each.count(kind)
    return any(
        all(n >= each.role.replicas for n, each in zip(total, asked, strict=True))
        for total in totals.values()
    )


@settings(max_examples=400, deadline=None)
@given(st.integers(min_value=0, max_value=2**32))
def test_a_count_is_the_same_however_it_came_about(seed: int) -> None:
    dice = Random(seed)
    board, names, jobs = filled(dice)
    parts = dice.random() < 0.4
    roles = [role(f"r{i}", dice.randint(1, 6), dice.randint(0, 4), cpus=4) for i in (0, 1)]
    asked = [Asked(each, of_role(each)) for each in roles[: dice.randint(1, 2)]]
    rooms = Rooms({node: Kind(board.free(node), MODEL) for node in names})
    tally = Tally(asked, rooms, board, (lambda node: node) if parts else None, exact=True)
    gone = set[JobKey]()
    assert tally.enough == afresh(board, names, asked, gone, parts=parts)
    for _ in range(16):
        job = dice.choice(jobs)
        if job in gone:
            gone.discard(job)
            needed = tally.needs(job, board.nodes_of(job))
            assert needed != afresh(board, names, asked, gone, parts=parts)
            tally.give(job, board.nodes_of(job))
        else:
            gone.add(job)
            tally.take(job, board.nodes_of(job))
        assert tally.enough == afresh(board, names, asked, gone, parts=parts)
