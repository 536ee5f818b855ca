"""What nodes and pools have: counted from the jobs' own words, never added up across nodes."""

from __future__ import annotations

from muster.domain.phases import Phase
from muster.gateway.core.capacity import node_uses, pool_use
from tests.gateway.worlds import Gateway, World


async def fill(world: World) -> None:
    """n1 is half used, n2 fully, n3 takes nothing, n4 has left, n5 is free."""
    for node in ("n1", "n2", "n3", "n4", "n5"):
        await world.joined(node)
    await world.cordoned("n3")
    await world.left("n4")
    await world.running("j1", "n1", "n2", gpus=4)
    await world.running("j2", "n2", "n2", gpus=2)
    await world.queued("j3")


async def test_a_node_shows_who_is_on_it_and_what_is_free(gateway: Gateway, world: World) -> None:
    await fill(world)
    await gateway.follow.step()
    uses = {use.state.node: use for use in gateway.reading.nodes("default")}
    assert [(h.job, h.workers, h.gpus) for h in uses["n1"].holdings] == [("j1", ("worker-0",), 4)]
    assert {node: (use.gpus_used, use.gpus_free) for node, use in uses.items()} == {
        "n1": (4, 4),
        "n2": (8, 0),
        "n3": (0, 0),
        "n4": (0, 0),
        "n5": (0, 8),
    }


async def test_a_pool_counts_fragments_by_node_and_leaves_out_what_has_left(
    gateway: Gateway, world: World
) -> None:
    await fill(world)
    await gateway.follow.step()
    (pool,) = gateway.reading.pools()
    assert (pool.use.nodes, pool.use.schedulable, pool.use.gpus) == (4, 3, 32)
    assert (pool.use.gpus_used, pool.use.gpus_free) == (12, 12)
    assert pool.use.fragments == {"A100": {4: 1, 8: 1}}
    assert pool.use.jobs == {Phase.RUNNING: 2, Phase.QUEUED: 1}


def test_an_empty_pool_has_nothing() -> None:
    use = pool_use(node_uses([], []), [])
    assert (use.nodes, use.gpus, use.gpus_free, use.fragments) == (0, 0, 0, {})
