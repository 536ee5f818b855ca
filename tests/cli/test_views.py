"""How things look, at a fixed width; and that JSON keeps its keys."""

from __future__ import annotations

import io
import json
from datetime import timedelta

from rich.console import Console, RenderableType

from muster.cli import output, texts
from muster.cli.views.explanation import explanation, explanation_document
from muster.cli.views.fragments import fragment_table, fragments_document, fragments_line
from muster.cli.views.job import job_in_full, job_view
from muster.cli.views.jobs import job_document, job_table
from muster.cli.views.nodes import node_document, node_table, uses
from muster.cli.views.shares import (
    block_document,
    block_lists,
    share_document,
    shares,
    spot_document,
    spot_rights,
    spot_table,
)
from muster.cli.views.spot_quota import quota_documents, quota_table
from muster.cli.views.stock import item_document, stock_table
from muster.cli.views.timeline import event_document, event_line, timeline
from muster.contracts.events import job_event
from muster.domain import facts as f
from muster.domain.demand import StabilityLevel
from muster.domain.nodes import (
    ForeignUse,
    NodeJoined,
    NodeOccupied,
    NodeReclaiming,
    NodeShape,
    NodeState,
    Taint,
    evolve_node,
)
from muster.domain.pools import (
    DemandHistory,
    FragmentRow,
    FragmentsMeasured,
    PoolSummary,
    SpotQuotaMeasured,
    SpotQuotaRow,
    WaitingJob,
)
from muster.domain.shelf import shelf
from muster.domain.state import JobState
from muster.domain.stock import StockChanged
from muster.domain.tenants import BlocklistSet, QuotaSet, Share, SpotSet, TenantView
from muster.log import Recorded
from tests.support.lives import START, Life, auto_queue, spec

WHY = WaitingJob(
    tenant="acme", job="j1", code="no_room", en="waiting: no room", zh="等待中：没有空位", ahead=3
)
POOL = PoolSummary(nodes=2, gpus=8, gpus_free=1, waiting=5, queue=(WHY,))


def rendered(*things: RenderableType, width: int = 100) -> str:
    stream = io.StringIO()
    Console(file=stream, width=width, highlight=False, emoji=False).print(*things)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines())


def recorded(*facts: f.Fact, queue: bool = True) -> list[Recorded]:
    life = Life(spec(auto_queue=auto_queue().model_dump()) if queue else spec())
    found: list[Recorded] = []
    for number, fact in enumerate(facts, start=1):
        life.then(fact, after=65)
        event = job_event(life.state, fact, event_id=f"e{number}", source="muster/test", at=life.at)
        found.append(Recorded(event, number, life.at, number))
    return found


STORY = recorded(
    f.Admitted(),
    f.Scheduled(placement={"n1": ("worker-0", "worker-1")}),
    f.Launching(attempt=1),
    f.Started(attempt=1),
)


def _waiting(name: str, job: str) -> JobState:
    return Life(spec(name=name, auto_queue=auto_queue().model_dump()), name=job).queued().state


def test_the_list_of_jobs() -> None:
    jobs = [STORY[-1].job, _waiting("waits", "j2")]
    shown = rendered(job_table(jobs, START + timedelta(seconds=300), {"j2": "no room"}))
    assert shown.splitlines() == [
        "JOB  NAME   TENANT  USER  STATE    SINCE  GANG      NODES  WHY",
        "j1   train  acme    ann   running  40s    2x4 spot  n1",
        "j2   waits  acme    ann   queued   4m59s  2x4 spot  -      no room",
    ]


def test_a_job_in_full() -> None:
    state = STORY[0].job
    shown = rendered(job_view(state, STORY[:1], START + timedelta(seconds=70), "no room"))
    lines = shown.splitlines()
    assert "job          acme/j1" in lines
    assert "state        queued  5.0s" in lines
    assert "why          no room" in lines
    assert "counts       run 0 in queue entry 1, requeues 0 used, 1 left, restarts 0 of 0" in lines
    (deadline,) = [line for line in lines if line.startswith("queue until")]
    assert deadline.endswith("(1h59m left)")
    assert lines[-1].endswith("admitted to the queue")


def test_a_debug_job_and_its_origin_name_each_other() -> None:
    origin = STORY[0].job
    looking = origin.model_copy(update={"job": "j9", "origin": "j1"})
    assert "debug of     acme/j1" in rendered(job_view(looking, [], START, "")).splitlines()
    shown = rendered(job_view(origin, [], START, "", [looking])).splitlines()
    assert "debug jobs   j9 (queued)" in shown
    assert not any(line.startswith("debug") for line in rendered(job_view(origin, [], START, "")))


def test_a_job_shows_how_far_it_is_and_whether_it_went_on() -> None:
    life = Life().running().then(f.CheckpointSaved(attempt=1, step=400, last_step=490))
    saved = rendered(job_view(life.state, [], life.at + timedelta(seconds=70), ""))
    assert "step 490, checkpoint of step 400, heard of 1m10s ago" in saved
    assert "after restart" not in saved
    kept = life.then(f.ResumeVerified(attempt=1, step_before=490, step_after=405, gpu_hours=0.5))
    shown = rendered(job_view(kept.state, [], kept.at, ""), width=150)
    assert "run 1 went on: step 490 -> 405, 0.50 GPU-hours done again" in shown
    lost = life.then(f.ProgressLost(attempt=1, step_before=490, step_after=1, gpu_hours=12))
    shown = rendered(job_view(lost.state, [], lost.at, ""), width=150)
    assert "run 1 LOST PROGRESS: step 490 -> 1, 12.00 GPU-hours" in shown
    assert "checkpoint of step" not in shown


def test_a_timeline_in_two_languages() -> None:
    english = rendered(timeline(STORY), width=120).splitlines()
    assert [line.split()[1:3] for line in english[1:]] == [
        ["+0.0s", "admitted"],
        ["+1m05s", "scheduled"],
        ["+2m10s", "launching"],
        ["+3m15s", "started"],
    ]
    assert english[2].endswith("placed on 1 node(s): n1 (worker-0 worker-1)")
    texts.use("zh")
    chinese = rendered(timeline(STORY), width=120).splitlines()
    assert chinese[2].endswith("已分配 1 个节点：n1 (worker-0 worker-1)")


def test_an_event_is_one_line_whatever_a_job_is_called() -> None:
    (item,) = recorded(f.Admitted())
    odd = item.event.data.job.model_copy(update={"name": "[red]x[/]\x1b[2J\nnext"})
    event = item.event.model_copy(update={"data": item.event.data.model_copy(update={"job": odd})})
    shown = rendered(event_line(Recorded(event, 1, item.at, 1)), width=200)
    assert "acme/j1 [red]x[/]\ufffd[2J\ufffdnext admitted to the queue" in shown


def test_the_json_of_an_event_is_the_event() -> None:
    found = json.loads(json.dumps(event_document(STORY[0])))
    assert {"seq", "stored_at", "id", "type", "subject", "time", "data"} <= found.keys()
    assert found["type"] == "muster.job.admitted.v1"
    assert found["data"]["job"]["phase"] == "queued"


def test_the_keys_of_a_job_in_json_are_stable() -> None:
    document = job_document(STORY[0].job, "no room")
    assert document.keys() == JobState.model_fields.keys() | {"waiting_because"}
    assert document["waiting_because"] == "no room"
    full = output.jsonable(job_in_full(STORY[0].job, STORY, ""))
    assert full.keys() == {"job", "debugged_by", "tried", "timeline"}
    assert full["job"]["waiting_because"] is None


def _node(name: str, *, spot: bool = False, taints: tuple[Taint, ...] = ()) -> NodeState:
    shape = NodeShape(gpus=4, gpu_model="A100", cpus=8, memory_mib=1024, spot=spot, taints=taints)
    joined = NodeJoined(pool="default", node=name, cluster="c", shape=shape)
    return evolve_node(None, joined, START)


def test_nodes_with_who_is_there_and_what_is_free() -> None:
    state = Life().running(placement={"n1": ("worker-0",), "n2": ("worker-1",)}).state
    leaving = evolve_node(
        _node("n2", spot=True), NodeReclaiming(deadline=START + timedelta(hours=1)), START
    )
    used = uses([_node("n3"), leaving, _node("n1")], [state])
    lines = [line.split() for line in rendered(node_table(used), width=120).splitlines()]
    assert lines[1] == ["n1", "default", "ready", "A100", "4", "4", "0", "train", "(j1)"]
    assert lines[2][2:4] == ["reclaiming,", "spot,"]
    assert lines[2][-5:] == ["4", "4", "0", "train", "(j1)"]
    assert lines[3] == ["n3", "default", "ready", "A100", "4", "0", "4", "-"]
    document = node_document(used[0])
    assert (document["gpus_used"], document["gpus_free"]) == (4, 0)
    assert document["jobs"] == [{"tenant": "acme", "job": "j1", "name": "train"}]


def test_nodes_with_shared_cards_others_and_taints() -> None:
    sharing = spec(
        resource={"type": "on_demand", "replicas": 3, "gpu_milli_per_replica": 250},
        locality={"level": "node", "mode": "required"},
        tolerations=[{"key": "dedicated", "value": "vision"}, {}],
    )
    placed = f.Scheduled(
        placement={"n1": ("worker-0", "worker-1", "worker-2")},
        cards={"worker-0": 0, "worker-1": 0, "worker-2": 1},
    )
    state = Life(sharing).queued().then(placed).state
    taint = Taint(key="dedicated", value="vision")
    node = evolve_node(_node("n1", taints=(taint,)), NodeOccupied(foreign=FOREIGN), START)
    (use,) = used = uses([node], [state])
    shown = rendered(node_table(used), width=200)
    assert "ready, taint dedicated=vision:NoSchedule" in shown
    assert "0 + 0.75 of 2 shared + 1 by others" in shown
    assert use.free == 1
    document = node_document(use)
    assert (document["gpus_used"], document["gpus_foreign"], document["gpus_free"]) == (2, 1, 1)
    assert document["gpus_shared"] == {"0": 500, "1": 250}
    texts.use("zh")
    assert "0 + 2 张共享卡的 0.75 + 外部 1" in rendered(node_table(used), width=200)
    texts.use("en")
    words = rendered(job_view(state, [], START, ""), width=200)
    assert "3x0.25 on_demand" in words
    assert "all workers within one node, or it waits" in words
    assert "dedicated=vision, every taint" in words
    assert "worker-0 (shared card 0), worker-1 (shared card 0), worker-2 (shared card 1)" in words


FOREIGN = ForeignUse(gpus=1)


def test_a_job_shows_which_models_it_takes() -> None:
    wanted = spec(resource={"type": "spot", "gpus_per_replica": 1, "gpu_model": "A100|H100"})
    assert "A100 or H100" in rendered(job_view(Life(wanted).queued().state, [], START, ""))


def _explained(state: JobState, pool: PoolSummary | None = POOL) -> str:
    now = state.since + timedelta(seconds=30)
    return "\n".join(line.plain for line in explanation(state, pool, now))


def test_a_waiting_job_is_explained_by_the_last_round() -> None:
    words = _explained(STORY[0].job)
    assert "train (j1): queued" in words
    assert "because: waiting: no room" in words
    assert "3 job(s) before it of 5 that wait; 1 of 8 GPUs of pool default are free" in words
    assert "then a person must act" in words
    texts.use("zh")
    assert "原因：等待中：没有空位" in _explained(STORY[0].job)


def test_every_phase_has_a_next_step() -> None:
    evicting = Life().running().then(f.Preempted(cause="spot_reclaim", grace_s=30)).state  # type: ignore[arg-type]
    assert "then it is killed" in _explained(evicting)
    abnormal = Life(spec(auto_queue=auto_queue().model_dump())).queued()
    abnormal.then(f.QueueTimedOut(entry=1))
    assert "muster resume j1" in _explained(abnormal.state)
    assert "it goes on, on n1, n2" in _explained(Life().running().state)
    stopped = Life().queued().then(f.StopRequested(by="ann", request="r"))
    assert "it is over" in _explained(stopped.state)
    assert "Muster decides within a minute" in _explained(Life().interrupted().state)
    assert "no placement round" in _explained(STORY[0].job, None)
    assert "this is its one round" in _explained(Life().queued().state)


def test_an_explanation_in_json() -> None:
    found = explanation_document(STORY[0].job, POOL)
    assert found["waiting"]["ahead"] == 3
    assert found["pool"] == {"nodes": 2, "gpus": 8, "gpus_free": 1, "waiting": 5}
    assert found["deadlines"].keys() == {"queue"}


# --- spot stock --------------------------------------------------------------------------------


def test_stock_tells_none_left_from_not_offered() -> None:
    def spoken(model: str, gpus: int | None) -> StockChanged:
        return StockChanged(pool="default", zone="default", gpu_model=model, gpus=gpus)

    items = shelf([spoken("A", 0), spoken("B", None), spoken("C", 8)], [], [])
    assert [item_document(item)["status"] for item in items] == ["offered", "withdrawn", "offered"]
    assert [item.available for item in items] == [0, 0, 0]  # no nodes are there
    shape = NodeShape(gpus=4, gpu_model="C", cpus=8, memory_mib=64, spot=True)
    joined = NodeJoined(pool="default", node="n1", cluster="c1", shape=shape)
    node = evolve_node(None, joined, START)
    known, unspoken = shelf([spoken("C", 3)], [node], []), shelf([], [node], [])
    assert [known[0].available, unspoken[0].available] == [3, 4]
    assert item_document(unspoken[0])["status"] == "unknown"


def test_stock_tells_what_must_go_back_and_by_when() -> None:
    state = Life().running().state
    shape = NodeShape(gpus=8, gpu_model="C", cpus=8, memory_mib=64, spot=True)

    def there(name: str) -> NodeState:
        joined = NodeJoined(pool=state.pool, node=name, cluster="c1", shape=shape)
        return evolve_node(None, joined, START)

    nodes = [there(name) for name in sorted(state.held)]
    late, soon = START + timedelta(seconds=90), START + timedelta(seconds=30)
    fell = StockChanged(
        pool=state.pool,
        zone="default",
        gpu_model="C",
        gpus=1,
        deadline=late,
        price=9.5,
        currency="CNY",
        network="RoCE",
    )
    (item,) = shelf([fell], nodes, [state])
    assert (item.held, item.available, item.over) == (state.demand.gpus, 0, state.demand.gpus - 1)
    assert (item.going, item.gone_by) == (item.over, late)
    told = NodeReclaiming(deadline=soon, by="op", request="r")
    noticed = [evolve_node(nodes[0], told, START), *nodes[1:]]
    (item,) = shelf([fell], noticed, [state])
    assert item.gone_by == soon
    document = item_document(item)
    assert document["going_gpus"] == item.going
    assert (document["price"], document["currency"], document["network"]) == (9.5, "CNY", "RoCE")
    (alone,) = shelf([], noticed, [state])
    assert (alone.over, alone.going, alone.gone_by) == (0, alone.noticed, soon)
    now = noticed[0].model_copy(update={"deadline": None})
    (hurry,) = shelf([], [now, *nodes[1:]], [state])
    assert (hurry.going > 0, hurry.gone_by) == (True, None)
    assert f"{hurry.going} at once" in rendered(stock_table([hurry]), width=150)
    (calm,) = shelf([fell.model_copy(update={"gpus": state.demand.gpus})], nodes, [state])
    assert (calm.going, calm.gone_by) == (0, None)
    text = rendered(stock_table([item]), width=150)
    assert "9.5 CNY" in text
    assert "RoCE" in text


def test_what_a_block_list_shuts_is_not_to_be_had() -> None:
    shape = NodeShape(gpus=4, gpu_model="C", cpus=8, memory_mib=64, spot=True)
    joined = NodeJoined(pool="default", node="n1", cluster="c1", shape=shape)
    node = evolve_node(None, joined, START)
    (mine,) = shelf([], [node], [], lambda node: node.node == "n1")
    assert (mine.free, mine.available) == (0, 0)


def test_spot_rights_are_listed_with_the_word_for_all_pools_first() -> None:
    fact = SpotSet(by="op", request="s", enabled=False, pools={"west": True, "east": False})
    found = spot_rights({"acme": TenantView(spot=fact), "beta": TenantView()})
    assert [spot_document(one) for one in found] == [
        {"tenant": "acme", "pool": None, "enabled": False},
        {"tenant": "acme", "pool": "east", "enabled": False},
        {"tenant": "acme", "pool": "west", "enabled": True},
    ]
    assert "every pool" in rendered(spot_table(found))


def test_the_spot_quota_stands_beside_its_reasons_or_says_what_is_missing() -> None:
    def measured(quota: float | None, hours: int) -> SpotQuotaRow:
        return SpotQuotaRow(
            gpu_model="H100",
            capacity=64,
            demand=20,
            forecast=None if quota is None else 31.5,
            held=8,
            quota=quota,
            eta=0.9,
            evicted=1.5,
            kept=40,
            history=DemandHistory(hour=0, peak=20, hours=hours),
        )

    rows = (measured(29.25, 50), measured(None, 7))
    found = SpotQuotaMeasured(at=START, upto=START, rows=rows)
    shown = rendered(quota_table({"p": found}))
    assert "29.2" in shown
    assert "7 of 48 hours" in shown
    first = next(quota_documents("p", found))
    assert (first["pool"], first["quota"], first["hours"]) == ("p", 29.25, 50)
    assert "history" not in first


# --- shares and block lists ----------------------------------------------------------------------


def test_shares_tell_what_is_used_and_what_is_borrowed() -> None:
    share = Share(pool="default", gpu_model="H100", guaranteed=2, ceiling=8)
    quota = QuotaSet(by="op", request="q", shares=(share,))
    shape = NodeShape(gpus=8, gpu_model="H100", cpus=8, memory_mib=64)
    state = Life().running().state
    nodes = [
        evolve_node(None, NodeJoined(pool=state.pool, node=name, cluster="c1", shape=shape), START)
        for name in state.held
    ]
    mine = shares({state.tenant: TenantView(quota=quota)}, nodes, [state])
    assert [(one.used, one.borrowed) for one in mine] == [
        (state.demand.gpus, max(0, state.demand.gpus - 2))
    ]
    other = shares({"other": TenantView(quota=quota)}, nodes, [state])
    found = {one.tenant: share_document(one) for one in other}
    assert found["other"]["used"] == 0
    assert found[state.tenant]["guaranteed"] is None
    assert found[state.tenant]["borrowed"] == state.demand.gpus
    assert shares({}, nodes, [state]) == []


def test_block_lists_of_tenants_come_before_those_of_their_users() -> None:
    fact = BlocklistSet(by="op", request="b", nodes={"p": ("n2",)}, users={"ann": {"p": ("n1",)}})
    found = [block_document(one) for one in block_lists({"acme": TenantView(blocklist=fact)})]
    assert found == [
        {"tenant": "acme", "user": None, "pool": "p", "nodes": ["n2"]},
        {"tenant": "acme", "user": "ann", "pool": "p", "nodes": ["n1"]},
    ]


def _fragments() -> FragmentsMeasured:
    def row(level: StabilityLevel, gang: int) -> FragmentRow:
        return FragmentRow(
            gpus=0,
            gpu_milli=500,
            gpu_model="A100|H100",
            cpus=4,
            memory_mib=2048,
            level=level,
            free_milli=5500,
            gang=gang,
            nodes=min(gang, 3),
        )

    rows = (row(StabilityLevel.LOW, 9), row(StabilityLevel.MEDIUM, 2), row(StabilityLevel.HIGH, 0))
    return FragmentsMeasured(free_milli=5500, fragmented_milli=1234, rows=rows)


def test_fragments_say_what_is_free_and_how_many_fit_side_by_side() -> None:
    lines = rendered(fragment_table(_fragments())).splitlines()
    shapes = [line for line in lines if "0.5 GPU A100|H100, 4 CPU, 2048 MiB" in line]
    assert len(shapes) == 1
    assert [line.split()[-4:] for line in lines if "5.5" in line] == [
        ["low", "5.5", "9", "3"],
        ["medium", "5.5", "2", "2"],
        ["high", "5.5", "0", "0"],
    ]
    assert fragments_line("p", _fragments()).startswith("pool p: 5.5 GPUs free, of which 1.2")
    document = fragments_document("p", _fragments())
    assert (document["pool"], document["free_milli"], len(document["rows"])) == ("p", 5500, 3)
