"""Rules by request: made, listed, tested, paused, resumed and removed, and what nobody may see."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from muster.bus import Question
from muster.contracts import notices as n
from muster.domain.errors import Permanent, Temporary
from muster.notifier.core.delivery import Fault
from muster.notifier.findings import _TEXTS
from muster.notifier.rulebook import Rulebook
from muster.runtime.service import Service
from tests.notifier.asking import WEBHOOK, Locked, add, ask, request, rules_of, wanted
from tests.notifier.lives import START, queued
from tests.notifier.stage import BOOK, Breaks, Scripted, Stage, hear, live, look, senders, turn
from tests.support.leaks import TOKEN


@pytest.fixture
async def stage(tmp_path: Path, database_url: str) -> AsyncIterator[Stage]:
    stage = Stage(tmp_path, database_url)
    yield stage
    for service in stage.services:
        await service.stop()


@pytest.fixture
async def service(stage: Stage) -> Service:
    return await stage.starts(Rulebook(), vault=Locked())


def codes(done: n.Done) -> list[tuple[str, str]]:
    return [(each.code, each.path) for each in done.violations]


async def test_a_rule_is_made_and_tells_what_happens_from_then_on(
    stage: Stage, service: Service
) -> None:
    before = queued(job="old")
    stage.clock.moves(120)
    made = (await add(service)).rule
    assert made is not None
    assert made.health.state == "new"
    await live(service, before)
    life = queued(job="new")
    life.steps[-1] = (
        life.steps[-1][0],
        life.state.model_copy(update={"since": stage.clock.now(), "entered_at": stage.clock.now()}),
    )
    await live(service, life)
    assert stage.titles == ["排队中"]
    (listed,) = await rules_of(service)
    assert listed.health == n.Health(state="ok", code="0", text="success")
    assert listed.delivered_at == stage.clock.now()


async def test_a_rule_made_on_one_replica_is_in_force_on_the_other(stage: Stage) -> None:
    one, two = [await stage.starts(Rulebook(), vault=Locked()) for _ in range(2)]
    await live(two, queued(job="early"))
    assert (await add(one)).violations == ()
    await live(two, queued())
    assert stage.titles == ["排队中"]


async def test_no_answer_and_no_row_shows_what_is_secret(
    stage: Stage, service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    hook = WEBHOOK.replace(TOKEN, "a-token-of-some-length")
    done = await add(service, webhook=hook, secret="marker-secret")
    listed = await ask(service, n.AskRules(), n.RuleViews)
    lanes = await ask(service, n.AskLanes(), n.LaneViews)
    said = "".join(each.model_dump_json() for each in (done, listed, lanes)) + caplog.text
    assert listed.rules[0].shown.endswith("/open-apis/bot/v2/hook/****ngth")
    assert listed.rules[0].signed
    path = Path(stage.url.removeprefix("sqlite:///"))
    stored = "".join(str(p.read_bytes()) for p in path.parent.glob(f"{path.name}*"))
    for secret in ("a-token-of-some-length", "marker-secret"):
        assert secret not in said
        assert secret not in stored


REFUSED: dict[str, tuple[dict[str, Any], list[tuple[str, str]]]] = {
    "two triggers": (
        {"trigger": ["job_failed", "job_abnormal"]},
        [("E_RULE_TRIGGER", "$.trigger")],
    ),
    "no trigger": ({"trigger": None}, [("E_RULE_TRIGGER", "$.trigger")]),
    "an unknown trigger": ({"trigger": "job_lost"}, [("E_RULE_TRIGGER", "$.trigger")]),
    "an unknown trigger of machines": (
        {"trigger": "node_lost", "scope": "cluster"},
        [("E_RULE_TRIGGER", "$.trigger")],
    ),
    "http": (
        {"webhook": "http://open.feishu.cn/open-apis/bot/v2/hook/x"},
        [("E_WEBHOOK", "$.webhook")],
    ),
    "another host": (
        {"webhook": "https://evil.example/open-apis/bot/v2/hook/x"},
        [("E_WEBHOOK", "$.webhook")],
    ),
    "a query": ({"webhook": f"{WEBHOOK}?a=b"}, [("E_WEBHOOK", "$.webhook")]),
    "a secret of 129": ({"secret": "s" * 129}, [("E_RULE_SECURITY", "$.secret")]),
    "a secret of blanks": ({"secret": "  \n"}, [("E_RULE_SECURITY", "$.secret")]),
    "eleven keywords": ({"keywords": ["k"] * 11}, [("E_RULE_SECURITY", "$.keywords")]),
    "no address": ({"webhook": None, "secret": None}, [("E_RULE_ADDRESS", "$.webhook")]),
    "an address of nobody": (
        {"webhook": None, "address": "ops"},
        [("E_RULE_SHAPE", "$.address")],
    ),
    "somebody else's jobs": ({"scope": {"me": "bob"}}, [("E_RULE_OWNER", "$.scope")]),
    "a pool's jobs": ({"scope": {"pool": "p"}}, [("E_RULE_SCOPE", "$.scope")]),
    "a node of a job": (
        {"scope": {"job": "j1"}, "trigger": "node_excluded"},
        [("E_RULE_SCOPE", "$.scope")],
    ),
    "a channel of another kind": (
        {"channel": "lark", "webhook": "https://open.feishu.cn/open-apis/bot/v2/hook/x"},
        [("E_WEBHOOK", "$.webhook")],
    ),
    "everything at once": (
        {"trigger": [], "scope": 3, "language": "fr", "id": "A b", "secret": ""},
        [
            ("E_RULE_SECURITY", "$.secret"),
            ("E_RULE_SHAPE", "$.id"),
            ("E_RULE_SHAPE", "$.scope"),
            ("E_RULE_TRIGGER", "$.trigger"),
            ("E_RULE_SHAPE", "$.language"),
        ],
    ),
}


@pytest.mark.case("NTF-15")
@pytest.mark.parametrize("name", REFUSED)
async def test_a_rule_that_breaks_rules_is_refused_with_each_of_them(
    service: Service, name: str
) -> None:
    values, expected = REFUSED[name]
    done = await add(service, **values)
    assert codes(done) == expected
    assert all(each.en and each.zh and each.en != each.zh for each in done.violations)
    assert await rules_of(service) == ()


@pytest.mark.parametrize(
    "values",
    [
        {"secret": "s"},
        {"secret": "s" * 128},
        {"secret": " s\n"},
        {"secret": None},
        {"keywords": []},
        {"keywords": [f"k{i}" for i in range(10)]},
        {"scope": {"me": "alice"}},
        {"scope": {"resource_class": "spot"}},
        {"scope": {"labels": {"team": "nlp", "stage": "sft"}}},
        {"scope": "cluster", "trigger": "incident"},
        {"scope": {"pool": "default"}, "trigger": "node_excluded"},
        {"id": "a" * 63, "language": "en"},
        {"channel": "log", "webhook": None, "secret": None},
    ],
)
async def test_a_rule_at_the_limits_is_made(service: Service, values: dict[str, Any]) -> None:
    done = await add(service, **values)
    assert done.violations == ()
    (listed,) = await rules_of(service)
    assert listed.owner == "alice"
    assert listed.scope == values.get("scope", "tenant")


async def test_the_same_rule_twice_is_refused_and_of_another_owner_made(service: Service) -> None:
    assert codes(await add(service)) == []
    assert codes(await add(service)) == [("E_RULE_DUP", "$")]
    assert codes(await add(service, trigger="job_failed")) == []
    assert codes(await add(service, user="bob")) == []


async def test_an_id_belongs_to_one_rule(service: Service) -> None:
    assert codes(await add(service, id="mine")) == []
    assert codes(await add(service, id="mine", trigger="job_failed")) == [("E_RULE_ID", "$.id")]
    other = await ask(service, wanted(id="mine"), n.Done, tenant="other")
    assert codes(other) == [("E_RULE_ID", "$.id")]
    await ask(service, n.RemoveRule(**request(rule="mine")), n.Done)
    assert codes(await add(service, id="mine", trigger="job_failed")) == []


async def test_a_request_told_twice_is_carried_out_once(service: Service) -> None:
    body = wanted(request="once")
    first, again = [await ask(service, body, n.Done) for _ in range(2)]
    assert first == again
    assert len(await rules_of(service)) == 1
    reused = await ask(service, wanted(request="once", trigger="job_failed"), n.Done)
    assert codes(reused) == [("E_REQUEST_REUSED", "$.request")]


async def test_without_a_key_nothing_secret_is_taken(stage: Stage) -> None:
    service = await stage.starts(Rulebook())
    assert codes(await add(service)) == [("E_RULE_KEY", "$.webhook")]
    assert codes(await ask(service, n.Rotate(**request()), n.Done)) == [("E_RULE_KEY", "$")]
    plain = await add(service, channel="log", webhook=None, secret=None)
    assert plain.violations == ()


async def test_the_operators_rules_are_listed_and_not_changed(stage: Stage) -> None:
    service = await stage.starts(vault=Locked())
    listed = await rules_of(service)
    assert len(listed) == len(BOOK.rules)
    assert all(each.file and f"****{TOKEN[-4:]}" in each.shown for each in listed)
    done = await ask(service, n.PauseRule(**request(rule=listed[0].id)), n.Done)
    assert codes(done) == [("E_RULE_FILE", "$.rule")]
    named = await add(service, webhook=None, secret=None, address="ops", scope={"job": "j1"})
    assert named.violations == ()
    other = await ask(
        service, wanted(webhook=None, secret=None, address="ops"), n.Done, tenant="other"
    )
    assert codes(other) == [("E_RULE_SHAPE", "$.address")]


async def test_another_tenant_sees_and_changes_nothing(service: Service) -> None:
    await add(service, id="mine")
    assert await rules_of(service, "other") == ()
    gone = await ask(service, n.RemoveRule(**request(rule="mine")), n.Done, tenant="other")
    assert codes(gone) == [("E_RULE_UNKNOWN", "$.rule")]
    tested = await ask(service, n.TestRule(rule="mine"), n.Tested, tenant="other")
    assert (tested.sent, [each.code for each in tested.violations]) == (False, ["E_RULE_UNKNOWN"])
    assert len(await rules_of(service)) == 1


@pytest.mark.case("NTF-15")
async def test_a_rule_that_is_removed_takes_what_waits_along(
    stage: Stage, service: Service
) -> None:
    await add(service, id="mine")
    await hear(service, *queued().steps[-1])
    done = await ask(service, n.RemoveRule(**request(rule="mine")), n.Done)
    assert done.count == 1
    await look(service)
    assert stage.titles == []
    assert await stage.rows() == [("queued:1", "withdrawn", 0)]
    assert await rules_of(service) == ()


async def test_a_paused_rule_tells_nothing_until_it_is_resumed(
    stage: Stage, service: Service
) -> None:
    await add(service, id="mine")
    paused = await ask(service, n.PauseRule(**request(rule="mine")), n.Done)
    assert paused.rule is not None
    assert (paused.rule.enabled, paused.rule.health.state) == (False, "paused")
    await live(service, queued(job="a"))
    resumed = await ask(service, n.ResumeRule(**request(rule="mine")), n.Done)
    assert resumed.rule is not None
    assert resumed.rule.since == stage.clock.now()
    await live(service, queued(job="b"))
    assert stage.titles == ["排队中"]


async def test_a_test_over_a_channel_that_breaks_is_told_and_frees_the_address(
    stage: Stage,
) -> None:
    service = await stage.starts(Rulebook(), {"feishu": Breaks()}, vault=Locked())
    await add(service, id="mine")
    for _ in range(2):
        told = await ask(service, n.TestRule(rule="mine"), n.Tested)
        assert (told.delivered, told.code) == (False, "broke")
        assert "operator" in told.remedy


async def test_a_test_says_what_the_receiver_says(stage: Stage, service: Service) -> None:
    await add(service, id="mine")
    told = await ask(service, n.TestRule(rule="mine"), n.Tested)
    assert (told.sent, told.delivered, told.code) == (True, True, "0")
    assert "这是一条通知规则的测试消息" in stage.bot.received[0].text
    stage.bot.refuse_next.append((19024, "Key Words Not Found"))
    told = await ask(service, n.TestRule(rule="mine"), n.Tested)
    assert (told.delivered, told.code, told.text) == (False, "19024", "Key Words Not Found")
    assert "keyword" in told.remedy
    assert "关键词" in told.remedy_zh
    assert await stage.rows() == []


async def test_a_rule_whose_address_refuses_is_shown_as_failing(
    stage: Stage, service: Service
) -> None:
    await add(service, id="mine")
    stage.bot.refuse_next.append((19001, "param invalid: incoming webhook access token invalid"))
    await live(service, queued())
    (rule,) = await rules_of(service)
    assert (rule.health.state, rule.health.code) == ("failing", "19001")
    assert rule.health.remedy
    assert rule.dead == 1
    (lane,) = (await ask(service, n.AskLanes(), n.LaneViews)).lanes
    assert (lane.health.state, lane.rules, lane.backlog) == ("failing", ("mine",), 0)
    assert lane.probe_at == stage.clock.now() + timedelta(minutes=10)
    told = await ask(service, n.TestRule(rule="mine"), n.Tested)
    assert told.delivered, "a person who has mended it need not wait"
    (lane,) = (await ask(service, n.AskLanes(), n.LaneViews)).lanes
    assert lane.health.state == "ok"


async def test_a_test_keeps_the_limits_and_takes_turns(stage: Stage) -> None:
    stage.limited = True
    service = await stage.starts(Rulebook(), vault=Locked())
    await add(service, id="mine")
    await ask(service, n.TestRule(rule="mine"), n.Tested)
    with pytest.raises(Temporary):
        await ask(service, n.TestRule(rule="mine"), n.Tested)
    stage.clock.moves(0.25)
    assert (await ask(service, n.TestRule(rule="mine"), n.Tested)).delivered


async def test_a_lost_key_makes_the_address_fail_and_nothing_crash(stage: Stage) -> None:
    vault = Locked()
    service = await stage.starts(Rulebook(), vault=vault)
    await add(service, id="mine")
    vault.lost = True
    await live(service, queued())
    (rule,) = await rules_of(service)
    assert (rule.health.state, rule.health.code) == ("failing", "address")
    with pytest.raises(Permanent):
        await ask(service, n.Rotate(**request()), n.Done)


async def test_addresses_are_sealed_anew(stage: Stage, service: Service) -> None:
    await add(service, id="mine")
    assert (await ask(service, n.Rotate(**request()), n.Done)).count == 1
    await live(service, queued())
    assert stage.titles == ["排队中"]


async def test_what_became_of_notices_and_a_dead_letter_goes_out_again(
    stage: Stage, service: Service
) -> None:
    await add(service, id="mine")
    stage.bot.refuse_next.append((19002, "param invalid"))
    await live(service, queued())
    found = await ask(service, n.AskDeliveries(rule="mine"), n.DeliveryViews)
    (row,) = found.deliveries
    assert (row.state, row.code, row.transition) == ("dead", "19002", "queued:1")
    assert found.counts == {"dead": 1}
    again = await ask(service, n.Replay(**request(notice=row.notice)), n.Done)
    assert again.count == 1
    await turn(senders(service))
    assert stage.titles == ["排队中"]
    none = await ask(service, n.AskDeliveries(subject="j1", state="dead"), n.DeliveryViews)
    assert none.deliveries == ()
    assert codes(await ask(service, n.Replay(**request()), n.Done)) == [("E_REPLAY", "$")]


async def test_a_dead_letter_of_a_rule_that_is_gone_stays_dead(
    stage: Stage, service: Service
) -> None:
    await add(service, id="mine")
    stage.bot.refuse_next.append((19002, "param invalid"))
    await live(service, queued())
    await ask(service, n.PauseRule(**request(rule="mine")), n.Done)
    assert (await ask(service, n.Replay(**request(rule="mine")), n.Done)).count == 0
    await turn(senders(service))
    assert stage.titles == []


async def test_a_webhook_that_is_named_again_keeps_its_secret_and_keywords(
    stage: Stage, service: Service
) -> None:
    await add(service, id="mine")
    made = await add(service, id="other", trigger="job_failed", secret=None, keywords=[])
    assert made.violations == ()
    await live(service, queued())
    assert stage.titles == ["排队中"]


async def test_a_silence_keeps_quiet_and_is_counted(stage: Stage, service: Service) -> None:
    await add(service, id="mine")
    end = stage.clock.now() + timedelta(hours=1)
    body = n.AddSilence(**request(end=end, comment="drill", subject="j1"))
    made = await ask(service, body, n.Done)
    await live(service, queued())
    assert stage.titles == []
    assert [row[1] for row in await stage.rows()] == ["silenced"]
    (held,) = (await ask(service, n.AskSilences(), n.SilenceViews)).silences
    assert (held.id, held.author, held.comment, held.end) == (made.silence, "alice", "drill", end)
    over = await ask(service, n.EndSilence(**request(silence=held.id)), n.Done)
    assert over.violations == ()
    await live(service, queued(job="j2"))
    assert stage.titles == ["排队中"]
    assert (await ask(service, n.AskSilences(), n.SilenceViews)).silences == ()
    assert len((await ask(service, n.AskSilences(ended=True), n.SilenceViews)).silences) == 1
    gone = await ask(service, n.EndSilence(**request(silence=held.id)), n.Done)
    assert codes(gone) == [("E_SILENCE_UNKNOWN", "$.silence")]


HOUR, DAY = timedelta(hours=1), timedelta(days=1)
SILENCES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "90 days": ({"end": START + 90 * DAY}, []),
    "a second more": ({"end": START + 90 * DAY + timedelta(seconds=1)}, ["E_SILENCE_TIME"]),
    "over already": ({"start": START - 2 * HOUR, "end": START}, ["E_SILENCE_TIME"]),
    "no comment": ({"comment": " "}, ["E_SILENCE_COMMENT"]),
    "a comment of 500": ({"comment": "c" * 500}, []),
    "a comment of 501": ({"comment": "c" * 501}, ["E_SILENCE_COMMENT"]),
    "nothing matched": ({"subject": None}, ["E_SILENCE_MATCH"]),
    "labels alone": ({"subject": None, "labels": {"team": "nlp"}}, []),
    "a trigger": ({"triggers": ("job_queued",)}, []),
    "no trigger": ({"triggers": ("job_lost",)}, ["E_RULE_SHAPE"]),
}


@pytest.mark.parametrize("name", SILENCES)
async def test_what_a_silence_must_say(service: Service, name: str) -> None:
    values, expected = SILENCES[name]
    base = {"end": START + HOUR, "comment": "drill", "subject": "j1"}
    done = await ask(service, n.AddSilence(**request(**{**base, **values})), n.Done)
    assert [each.code for each in done.violations] == expected
    assert (done.silence is None) is bool(expected)


@pytest.mark.parametrize(
    ("subject", "body"),
    [
        ("notices.acme.recall", b"{}"),
        ("notices.acme.rules", b"[]"),
        ("notices.acme.deliveries", b'{"limit": 501}'),
        ("notices.acme.add_rule", b'{"webhook": 3}'),
    ],
)
async def test_what_is_no_question_is_refused(service: Service, subject: str, body: bytes) -> None:
    (responder,) = service.responders
    with pytest.raises(Permanent):
        await responder.answer(Question(subject, body))


async def test_a_refused_question_does_not_repeat_what_it_held(service: Service) -> None:
    (responder,) = service.responders
    body = b'{"user": "a", "request": "r r", "webhook": "https://marker-secret/x"}'
    with pytest.raises(Permanent) as caught:
        await responder.answer(Question("notices.acme.add_rule", body))
    assert "marker-secret" not in str(caught.value)


async def test_a_hanging_address_is_shown_with_what_waits(stage: Stage) -> None:
    channel = Scripted([Fault.UNREACHABLE] * 9)
    service = await stage.starts(Rulebook(), {"feishu": channel}, vault=Locked())
    await add(service, id="mine")
    await live(service, queued())
    stage.clock.moves(0.1)
    (lane,) = (await ask(service, n.AskLanes(), n.LaneViews)).lanes
    assert (lane.health.state, lane.failures, lane.backlog) == ("failing", 1, 1)
    assert lane.oldest_s == pytest.approx(0.1)
    (rule,) = await rules_of(service)
    assert rule.pending == 1


async def test_two_replicas_do_not_both_make_the_same_rule(stage: Stage) -> None:
    replicas = [await stage.starts(Rulebook(), vault=Locked()) for _ in range(2)]
    done = await asyncio.gather(*(add(replicas[number % 2]) for number in range(6)))
    assert sorted(map(codes, done)) == [[]] + [[("E_RULE_DUP", "$")]] * 5
    assert len(await rules_of(replicas[0])) == 1


@pytest.mark.parametrize("code", sorted(_TEXTS))
def test_every_violation_is_said_in_both_languages(code: str) -> None:
    english, chinese = _TEXTS[code]
    assert english.isascii() or "…" in english
    assert any("\u4e00" <= letter <= "\u9fff" for letter in chinese)
    assert set(re.findall(r"{(\w+)}", english)) == set(re.findall(r"{(\w+)}", chinese))
