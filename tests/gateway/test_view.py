"""The view is a fold: told in order, twice, or late, it is the same."""

from __future__ import annotations

from muster.domain.phases import Phase
from muster.gateway.core.view import View
from muster.log import Recorded
from tests.gateway.worlds import TENANT, Gateway, World


def entries(world: World) -> list[Recorded]:
    return [
        Recorded(entry.event, entry.seq, entry.at, entry.seq)
        for entry in world.store.entries
        if entry.event is not None
    ]


async def test_a_view_keeps_the_last_state_of_each_job(world: World) -> None:
    await world.ended("j1")
    await world.queued("j2")
    view = View()
    for item in entries(world):
        view.see_job(item.job, item.seq)
    assert {name: seen.state.phase for name, seen in view.jobs.items()} == {
        (TENANT, "j1"): Phase.SUCCEEDED,
        (TENANT, "j2"): Phase.QUEUED,
    }


async def test_what_is_told_twice_or_late_changes_nothing(world: World) -> None:
    await world.ended("j1")
    straight, jumbled = View(), View()
    told = entries(world)
    for item in told:
        straight.see_job(item.job, item.seq)
    for item in [*reversed(told), *told]:
        jumbled.see_job(item.job, item.seq)
    assert jumbled == straight


async def test_a_job_is_forgotten_only_as_it_was_seen(world: World) -> None:
    last = await world.ended("j1")
    view = View()
    view.see_job(last.job, last.seq)
    view.forget_job((TENANT, "j1"), last.seq - 1)
    assert view.jobs
    view.forget_job((TENANT, "j1"), last.seq)
    assert not view.jobs


async def test_following_reads_jobs_nodes_and_pools(gateway: Gateway, world: World) -> None:
    await world.joined("n1.example")
    await world.queued("j1")
    await world.decided()
    await world.cordoned("n1.example")
    await gateway.follow.step()
    view = gateway.view
    assert view.position == await world.log.end()
    assert gateway.follow.caught_up
    assert view.jobs[TENANT, "j1"].state.phase is Phase.QUEUED
    assert view.nodes["default", "n1.example"].state.cordoned
    decided = view.pools["default"].decided
    assert decided is not None
    assert decided.round == 1


async def test_following_skips_what_is_no_event(gateway: Gateway, world: World) -> None:
    world.store.put("jobs.acme.j9.scheduled", b"\xff{")
    await world.queued("j1")
    await gateway.follow.step()
    assert list(gateway.view.jobs) == [(TENANT, "j1")]
    assert gateway.view.position == 3


async def test_following_reads_a_long_log_page_by_page(gateway: Gateway, world: World) -> None:
    for number in range(200):
        await world.queued(f"j{number}")
    await gateway.follow.step()
    assert len(gateway.view.jobs) == 200
    assert gateway.follow.caught_up
