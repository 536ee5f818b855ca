"""Replays: figures worked out by hand, what may never be, and the same for the same."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from muster.cli.simulation.replay.book import Change
from muster.cli.simulation.replay.capacity import Happens, NodeStep
from muster.cli.simulation.replay.settings import Queueing, Settings, policy_with
from muster.cli.simulation.replay.workload import Cut, Row, Workload, read, with_spot
from muster.domain.demand import QueueLimits
from muster.domain.facts import Scheduled
from muster.domain.nodes import NodeShape
from muster.testing.dice import Dice
from tests.cli.replays import FIVE, loaded, replayed, write

RUN = "run"


def _ordered(order: str, *, limits: bool = False) -> Settings:
    return Settings(policy=policy_with([f"order={order}"]), limits=limits)


# --- figures by hand ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("order", "waits", "jct", "makespan"),
    [
        # c waits for both nodes until a ends at 100, d and e behind it until c ends at 200
        ("fifo", {"a": 0, "b": 0, "c": 90, "d": 180, "e": 180}, 148, 230),
        # when b ends at 50 d takes half of its node, and e the whole of it when d ends at 80
        ("fifo_skip", {"a": 0, "b": 0, "c": 90, "d": 30, "e": 60}, 94, 200),
        # the same with e first, which is shorter
        ("sjf", {"a": 0, "b": 0, "c": 90, "d": 40, "e": 30}, 90, 200),
    ],
)
def test_five_jobs_wait_as_worked_out_by_hand(
    tmp_path: Path, order: str, waits: dict[str, float], jct: float, makespan: float
) -> None:
    figures, ended = replayed(loaded(write(tmp_path)), _ordered(order, limits=True))
    trails = ended.meters.trails.values()
    assert {trail.row.job_id: trail.queued_s for trail in trails} == waits
    assert figures["queue_s"]["all"]["mean"] == sum(waits.values()) / 5
    assert figures["queue_s"]["all"]["max"] == max(waits.values())
    assert figures["jct_s"]["all"]["mean"] == jct
    assert figures["makespan_s"] == makespan
    assert figures["ends"]["succeeded"] == 5
    # 4x100 + 4x50 + 8x100 + 2x30 + 4x10 GPU seconds on 8 GPUs
    assert figures["allocation"]["percent"] == round(100 * 1500 / (8 * makespan), 2)
    assert figures["allocation"]["gpu_hours"] == round(1500 / 3600, 2)
    assert figures["evictions"]["total"] == figures["lost_gpu_hours"] == 0
    assert figures["starvation"]["longest_wait_s"] == max(waits.values())


def test_a_guaranteed_job_evicts_a_spot_job_whose_work_since_its_checkpoint_is_lost(
    tmp_path: Path,
) -> None:
    rows = ["s,0,10000,2,4,,spot,0", "g,4000,1000,1,4,,guaranteed,1"]
    figures, ended = replayed(loaded(write(tmp_path, rows)), Settings())
    spot, sure = ended.meters.trails.values()
    # an hour is safe, 400 s are lost; it has 6,400 s to go when g ends at 5,000
    assert (spot.evictions, spot.lost_gpu_s, spot.queued_s) == (1, 400 * 8, 1000)
    assert spot.jct_s == 5000 + 6400
    assert sure.queued_s == 0
    assert figures["evictions"]["by_cause"] == {"priority": 1}
    assert figures["lost_gpu_hours"] == round(3200 / 3600, 2)
    # one hour before the eviction, one after it, and the end; one was broken
    assert figures["evictions"]["hour_eviction_rate"] == 0.25


def test_without_checkpoints_everything_since_the_start_is_lost(tmp_path: Path) -> None:
    rows = ["s,0,10000,2,4,,spot,0", "g,4000,1000,1,4,,guaranteed,1"]
    _, ended = replayed(loaded(write(tmp_path, rows)), Settings(checkpoint_s=None))
    spot = next(iter(ended.meters.trails.values()))
    assert spot.lost_gpu_s == 4000 * 8
    assert spot.jct_s == 5000 + 10000


def test_a_limit_of_the_queue_parks_a_job_and_a_person_may_resume_it(tmp_path: Path) -> None:
    rows = ["a,0,10000,2,4,,guaranteed,1", "s,10,100,1,4,,spot,0"]
    workload = loaded(write(tmp_path, rows))
    hour = QueueLimits(max_queue_hours=1, max_requeues=0)
    figures, _ = replayed(workload, Settings(queueing=Queueing(hour)))
    assert figures["ends"] == {"succeeded": 1, "abnormal": 1, "refused": {}, "resumed": 0}
    figures, ended = replayed(workload, Settings(queueing=Queueing(hour, resumes=True)))
    assert (figures["ends"]["succeeded"], figures["ends"]["resumed"]) == (2, 2)
    assert list(ended.meters.trails.values())[1].queued_s == 9990


def test_a_spot_job_without_auto_queue_has_but_one_round(tmp_path: Path) -> None:
    rows = ["a,0,10000,2,4,,guaranteed,1", "s,10,100,1,4,,spot,0"]
    figures, _ = replayed(loaded(write(tmp_path, rows)), Settings(queueing=Queueing(off=True)))
    assert figures["ends"]["failed"] == 1


def test_shares_of_a_card_share_it(tmp_path: Path) -> None:
    rows = [f"j{number},0,100,1,0.25,V100|A100,," for number in range(6)]
    nodes = ["n1,V100,1,,"]
    figures, ended = replayed(loaded(write(tmp_path, rows, nodes)), Settings())
    assert sorted(t.queued_s for t in ended.meters.trails.values()) == [0, 0, 0, 0, 100, 100]
    assert figures["allocation"]["percent"] == 75.0


def test_what_admission_refuses_and_what_never_fits_is_told_and_ends_the_replay(
    tmp_path: Path,
) -> None:
    rows = ["big,0,100,3,4,,,", "other,0,100,1,4,H100,,", "ok,0,100,1,4,,,"]
    figures, _ = replayed(loaded(write(tmp_path, rows)), Settings())
    assert figures["ends"] == {"succeeded": 1, "refused": {}, "resumed": 0}
    assert [one["job"] for one in figures["never_fit"]["first"]] == ["big", "other"]
    assert figures["makespan_s"] == 100


# --- capacity ----------------------------------------------------------------------------------


def test_spot_capacity_that_goes_takes_its_job_along_and_it_runs_on_when_it_is_back(
    tmp_path: Path,
) -> None:
    workload = with_spot(loaded(write(tmp_path, ["s,0,1000,1,4,,spot,0"])), 1)
    steps = [NodeStep(400, "n2", Happens.RECLAIM), NodeStep(900, "n2", Happens.BACK)]
    blocker = Row(9, "", "g", 0, 5000, 1, gpus=4, qos="guaranteed", priority=1)
    both = Workload("w", (*workload.rows, blocker), workload.nodes)
    figures, ended = replayed(both, Settings(checkpoint_s=100), steps)
    spot = next(iter(ended.meters.trails.values()))
    assert figures["evictions"]["by_cause"] == {"spot_reclaim": 1}
    assert (spot.queued_s, spot.lost_gpu_s, spot.jct_s) == (500, 0, 900 + 600)


def test_a_lost_node_costs_no_requeue(tmp_path: Path) -> None:
    workload = loaded(write(tmp_path, ["j,0,1000,1,4,,,"]))
    steps = [NodeStep(400, "n1", Happens.LOST), NodeStep(400, "n2", Happens.LOST)]
    steps.append(NodeStep(600, "n2", Happens.BACK))
    figures, ended = replayed(workload, Settings(checkpoint_s=None), steps)
    job = next(iter(ended.meters.trails.values()))
    assert figures["evictions"]["by_cause"] == {"node_lost": 1}
    assert (job.queued_s, job.jct_s) == (200, 600 + 1000)


def test_a_drained_node_is_left(tmp_path: Path) -> None:
    workload = loaded(write(tmp_path, ["j,0,1000,1,4,,,"]))
    steps = [NodeStep(400, "n1", Happens.DRAIN), NodeStep(400, "n2", Happens.DRAIN)]
    steps.append(NodeStep(500, "n1", Happens.UNCORDON))
    figures, _ = replayed(workload, Settings(), steps)
    assert figures["evictions"]["by_cause"] == {"node_drain": 1}
    assert figures["ends"]["succeeded"] == 1


# --- what may never be -------------------------------------------------------------------------


class Looks:
    """Looks at every fact: no node over capacity, whole gangs, nothing held in the queue."""

    def __init__(self, nodes: dict[str, NodeShape]) -> None:
        self._nodes = nodes
        self._held: dict[str, dict[str, tuple[int, dict[int, int]]]] = {}
        self.facts = 0

    def __call__(self, change: Change) -> None:
        """Check one fact."""
        self.facts += 1
        state = change.after
        if isinstance(change.fact, Scheduled):
            placed = sorted(w for ws in change.fact.placement.values() for w in ws)
            assert placed == sorted(state.demand.workers)
        assert not (state.held and state.phase.value in {"submitted", "queued", "interrupted"})
        self._held[state.job] = self._use(change) if not state.waits_for else {}
        for node in state.held:
            assert self._used(node) <= self._nodes[node].gpus, (node, state.job)

    def _use(self, change: Change) -> dict[str, tuple[int, dict[int, int]]]:
        state, use = change.after, {}
        for node, workers in state.held.items():
            roles = {worker: state.demand.role_of(worker) for worker in workers}
            cards: Counter[int] = Counter()
            for worker in workers:
                if roles[worker].gpu_milli:
                    cards[state.cards[worker]] += roles[worker].gpu_milli
            use[node] = sum(role.gpus for role in roles.values()), dict(cards)
        return use

    def _used(self, node: str) -> int:
        whole, shared = 0, Counter[int]()
        for use in self._held.values():
            gpus, cards = use.get(node, (0, {}))
            whole += gpus
            shared.update(cards)
        assert all(milli <= 1000 for milli in shared.values())
        return whole + len(shared)


def _random(seed: int) -> tuple[Workload, Settings, list[NodeStep]]:
    dice = Dice(seed)
    nodes = {
        f"n{i}": NodeShape(
            gpus=4,
            gpu_model=dice.one_of(("V100", "A100")),
            cpus=1e6,
            memory_mib=1 << 40,
            spot=dice.chance(0.3),
        )
        for i in range(dice.whole(2, 5))
    }
    rows = tuple(_row(dice, number) for number in range(40))
    steps = [
        NodeStep(
            float(dice.whole(0, 20_000)),
            dice.one_of(list(nodes)),
            dice.one_of(list(Happens)),
        )
        for _ in range(dice.whole(0, 12))
    ]
    queueing = Queueing(off=dice.chance(0.2), resumes=dice.chance(0.5))
    order = dice.one_of(("default", "fifo", "fifo_skip", "sjf"))
    placement = dice.one_of(("default", "fgd", "best_fit", "first_fit"))
    policy = policy_with([f"order={order}", f"placement={placement}"])
    settings = Settings(policy, queueing, dice.one_of((None, 600.0)), dice.chance(0.5))
    ordered = sorted(rows, key=lambda row: (row.submit_s, row.number))
    return Workload("random", tuple(ordered), nodes), settings, sorted(steps, key=_at)


def _at(step: NodeStep) -> float:
    return step.at_s


def _row(dice: Dice, number: int) -> Row:
    gpus = dice.one_of((0, 1, 2, 4, 4))
    return Row(
        number=number,
        place="",
        job_id=f"j{number}",
        submit_s=float(dice.whole(0, 10_000)),
        duration_s=float(dice.whole(0, 5_000)),
        workers=dice.whole(1, 3),
        gpus=gpus,
        milli=0 if gpus else dice.one_of((250, 600)),
        gpu_model=dice.one_of((None, None, "V100", "V100|A100")),
        qos=dice.one_of(("guaranteed", "on_demand", "spot", "idle")),
        priority=dice.whole(1, 3),
    )


@pytest.mark.parametrize("seed", range(12))
def test_no_node_is_over_capacity_and_gangs_are_whole_after_every_fact(seed: int) -> None:
    workload, settings, steps = _random(seed)
    looks = Looks(workload.nodes)
    figures, ended = replayed(workload, settings, steps, [looks])
    assert looks.facts > 90
    assert not ended.rounds.refused
    assert figures["allocation"]["percent"] <= 100
    again, _ = replayed(*_random(seed))
    assert _timeless(again) == _timeless(figures)


def _timeless(figures: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in figures.items() if name != RUN}


def test_the_order_of_lines_in_a_file_decides_only_between_equals(tmp_path: Path) -> None:
    a, b, c, d, e = FIVE
    turned = loaded(write(tmp_path / "turned", [c, d, a, e, b]))
    plain = loaded(write(tmp_path / "plain"))
    one, two = (replayed(each, _ordered("fifo_skip"))[0] for each in (plain, turned))
    assert one["jct_s"] == two["jct_s"]


def test_rounds_may_be_kept_apart(tmp_path: Path) -> None:
    workload = loaded(write(tmp_path))
    often, _ = replayed(workload, Settings())
    seldom, _ = replayed(workload, Settings(round_every_s=30))
    assert seldom["rounds"] < often["rounds"]
    assert seldom["ends"] == often["ends"]


# --- real traces -------------------------------------------------------------------------------

TRACES = os.environ.get("MUSTER_TRACES")


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.skipif(not TRACES, reason="set MUSTER_TRACES to a folder of traces (docs/replay.md)")
def test_a_published_trace_waits_as_long_as_another_replay_says() -> None:
    root = Path(TRACES or "") / "normalized"
    nodes = root / "philly_muri_nodes" / "nodes.csv"
    workload = read(root / "philly_muri_trace3", nodes, Cut(one_class=True))
    figures, _ = replayed(workload, _ordered("fifo_skip"))
    assert figures["jct_s"]["all"]["mean"] == pytest.approx(480_913.2, rel=0.001)
