"""The command line against one running Muster: what a user does on the first day."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.harness import JOBS, NODES, Muster, ended, job_file
from tests.support.eventually import eventually

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@pytest.fixture(scope="module")
def muster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Muster]:
    folder = tmp_path_factory.mktemp("commands")
    (folder / "nodes.yaml").write_text(NODES)
    command_line = Muster(folder)
    try:
        asyncio.run(command_line.up())
        yield command_line
    finally:
        asyncio.run(command_line.run("down", "--workers"))


async def test_a_job_is_followed_to_its_success(muster: Muster) -> None:
    done = await muster.ok("submit", str(JOBS / "minimal.yaml"), "--follow")
    assert "step 6 of 6" in done.out
    words = [line for line in done.out.splitlines() if line]
    assert words[0].startswith("submitted minimal as job j")
    assert words[-1].startswith("minimal: succeeded after")
    for event in ("admitted", "scheduled", "launching", "started", "succeeded", "released"):
        assert sum(f"  {event}  " in line for line in words) == 1


async def test_a_gang_with_a_head_is_started_whole(muster: Muster) -> None:
    done = await muster.ok("submit", str(JOBS / "rayjob-shape.yaml"), "--follow")
    assert "head-0#1 all 2 workers joined" in done.out
    assert "worker-1#1 worker-1 was told: go" in done.out


async def test_a_job_that_fails_is_restarted_as_often_as_it_wants(muster: Muster) -> None:
    done = await muster.ok("submit", str(JOBS / "failing.yaml"), "--follow", "--json")
    kinds = [(line["kind"], line.get("line")) for line in done.lines]
    assert [text for kind, text in kinds if kind == "line" and "attempt" in text] == [
        "attempt 1",
        "attempt 2",
        "attempt 3",
    ]
    last = [line for line in done.lines if line["kind"] == "event"][-1]["data"]["job"]
    assert (last["phase"], last["attempt"], last["ledgers"]["restarts"]) == ("succeeded", 3, 2)


async def test_a_job_that_fails_for_good_ends_with_exit_code_one(muster: Muster) -> None:
    once = ("--set", "fault_tolerance.max_retries=1", "--name", "fails")
    done = await muster.run("submit", str(JOBS / "failing.yaml"), "--follow", *once)
    assert done.code == 1
    assert "fails: failed after" in done.out
    assert "exit code 7" in done.out.splitlines()[-1]


async def test_a_job_that_does_not_fit_says_why_and_can_be_stopped(muster: Muster) -> None:
    follow = await muster.start("submit", str(JOBS / "does-not-fit.yaml"), "--follow", "--json")
    assert follow.stdout is not None
    words = ""
    while "can never hold this job" not in words:
        words = (await asyncio.wait_for(follow.stdout.readline(), 30)).decode()
    assert json.loads(words)["kind"] == "waiting"
    explained = await muster.ok("explain", "does-not-fit")
    assert "can never hold this job" in explained.out
    listed = await muster.ok("list", "--phase", "queued", "--json")
    assert "can never hold" in listed.json[0]["waiting_because"]
    await muster.ok("stop", "does-not-fit")
    assert (await ended(follow)).code == 3


async def test_a_file_that_breaks_rules_is_not_sent(muster: Muster, tmp_path: Path) -> None:
    file = job_file(tmp_path, "Bad_Name", ["true"], resource={"type": "spot", "replicas": 0})
    done = await muster.run("submit", str(file), "--json")
    assert done.code == 1
    codes = [violation["code"] for violation in done.json["error"]["violations"]]
    assert codes == ["E_NAME_INVALID", "E_REPLICAS"]
    assert (await muster.ok("list", "--label", "x=y", "--json")).json == []


async def test_lists_are_filtered_by_labels_that_must_all_match(
    muster: Muster, tmp_path: Path
) -> None:
    one = job_file(tmp_path, "one", ["true"], labels={"team": "a"}).read_text()
    two = job_file(tmp_path, "two", ["true"], labels={"team": "a", "kind": "b"}).read_text()
    file = tmp_path / "both.yaml"
    file.write_text(f"{one}\n---\n{two}\n")
    assert len((await muster.ok("submit", str(file), "--json")).json) == 2
    both = await muster.ok("list", "-l", "team=a", "-l", "kind=b", "--json")
    assert [job["name"] for job in both.json] == ["two"]
    team = await muster.ok("list", "-l", "team=a", "--user", "nobody-else", "--json")
    assert team.json == []


async def test_a_job_is_shown_by_the_start_of_its_id(muster: Muster, tmp_path: Path) -> None:
    job = await muster.submit(job_file(tmp_path, "shown", ["true"]))
    await muster.in_phase(job, "succeeded")
    shown = await muster.ok("show", job[:12])
    assert f"default/{job}" in shown.out
    assert "every worker ended well" in shown.out
    chinese = await muster.ok("show", "shown", "--lang", "zh")
    assert "全部 Worker 正常结束" in chinese.out


async def test_logs_are_read_back_and_followed(muster: Muster, tmp_path: Path) -> None:
    say = "import os, time; print('I am', os.environ['RANK'], flush=True); time.sleep(1.5)"
    resource = {"type": "on_demand", "replicas": 2}
    job = await muster.submit(
        job_file(tmp_path, "talker", ["python", "-c", say], resource=resource)
    )
    followed = await muster.ok("logs", "-f", job)
    assert sorted(followed.out.splitlines()) == ["worker-0#1 I am 0", "worker-1#1 I am 1"]
    one = await muster.ok("logs", "talker", "--worker", "worker-1", "--json")
    assert one.lines == [{"attempt": 1, "worker": "worker-1", "line": "I am 1"}]


async def test_nodes_are_closed_and_opened(muster: Muster) -> None:
    await muster.ok("node", "cordon", "node-2")

    async def cordoned() -> list[bool]:
        nodes = (await muster.ok("nodes", "--json")).json
        return [node["cordoned"] for node in nodes]

    assert await cordoned() == [False, True]
    assert "cordoned" in (await muster.ok("nodes")).out
    await muster.ok("node", "uncordon", "node-2")
    assert await cordoned() == [False, False]
    unknown = await muster.run("node", "drain", "node-9")
    assert unknown.code == 1
    assert "unknown node: node-9" in unknown.err


async def test_events_are_filtered_and_followed(muster: Muster, tmp_path: Path) -> None:
    process = await muster.start("events", "-f", "--event", "started", "--json")
    assert process.stdout is not None
    job = await muster.submit(job_file(tmp_path, "evented", ["true"]))
    found = ""
    while job not in found:
        found = (await asyncio.wait_for(process.stdout.readline(), 30)).decode()
    assert json.loads(found)["type"] == "muster.job.started.v1"
    process.terminate()
    await process.wait()
    old = await muster.ok("events", "--job", job, "--since", "1h", "--json")
    assert [line["seq"] for line in old.lines] == sorted(line["seq"] for line in old.lines)
    assert old.lines[0]["subject"] == f"jobs.default.{job}.submitted"


async def test_requests_that_cannot_be_are_refused_with_the_rule(muster: Muster) -> None:
    nothing = await muster.run("stop", "nowhere")
    assert (nothing.code, nothing.err.splitlines()[0]) == (1, "error: there is no job nowhere")
    over = await muster.run("resume", "shown")
    assert over.code == 1
    assert "[E_STATE]" in over.err
    late = await muster.run("respecify", "shown", "--max-requeues", "2")
    assert (late.code, "[E_STATE]" in late.err) == (1, True)
    empty = await muster.run("respecify", "shown")
    assert (empty.code, "name what changes" in empty.err) == (2, True)


async def test_nothing_is_parked_and_the_doctor_is_content(muster: Muster) -> None:
    assert (await muster.ok("parked", "list", "--json")).json == []
    missing = await muster.run("parked", "show", "7")
    assert missing.code == 1
    found = (await muster.ok("doctor", "--json")).json
    severities = {finding["check"]: finding["severity"] for finding in found["findings"]}
    assert found["problems"] == 0
    assert {"python", "server", "clock", "sync", "topology", "services", "up"} <= {
        check for check, severity in severities.items() if severity == "fine"
    }


async def test_the_server_is_found_by_its_address_too(muster: Muster) -> None:
    record = json.loads((muster.state / "nats" / "nats-server.json").read_text())
    url = f"nats://{record['token']}@127.0.0.1:{record['port']}"
    done = await muster.ok("provision", "--url", url)
    assert done.out.strip() == "everything is as it should be"


async def test_the_state_is_the_owners_alone(muster: Muster) -> None:
    assert muster.state.stat().st_mode & 0o077 == 0
    said = "".join(path.read_text() for path in (muster.state / "up.log", muster.state / "up.out"))
    token = json.loads((muster.state / "nats" / "nats-server.json").read_text())["token"]
    assert token not in said


async def test_a_second_up_says_where_the_first_runs(muster: Muster) -> None:
    second = await muster.run("up")
    assert second.code == 1
    assert f"process {muster.pid()}" in second.err
    assert Path(f"/proc/{muster.pid()}").exists()


async def test_what_nobody_can_handle_is_parked_shown_replayed_and_dropped(muster: Muster) -> None:
    async with muster.client() as client:
        await client.connection.publish("requests.default.submit", b"\xff not a request")
        await client.connection.flush()

    async def parked() -> list[int]:
        return [each["number"] for each in (await muster.ok("parked", "list", "--json")).json]

    (number,) = await eventually(parked, every=0.3)
    shown = await muster.ok("parked", "show", str(number))
    assert "the request cannot be answered" in shown.out
    assert "1 message(s) are parked" in (await muster.ok("doctor")).out
    await muster.ok("parked", "replay", str(number))
    again = await eventually(parked, every=0.3)  # its handler can still do nothing with it
    assert again != [number]
    dropped = await muster.ok("parked", "drop", "--all", "--yes", "--json")
    assert dropped.json == [{"number": again[0], "dropped": True}]
    assert await parked() == []


async def test_the_web_page_answers(muster: Muster) -> None:
    import httpx

    gateway = json.loads((muster.state / "up.json").read_text())["gateway"]

    async def names() -> set[str]:
        async with httpx.AsyncClient() as client:
            answer = await client.get(f"{gateway}/api/v1/jobs")
        return {job["name"] for job in answer.json()["jobs"]}

    await eventually(names, within=10)
