"""The rules file: what it may say, and every violation at once without a secret in it."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from muster.notifier.addressbook import from_machine
from muster.notifier.allowlist import Allowlist
from muster.notifier.core.notice import Trigger
from muster.notifier.core.rules import ScopeKind
from muster.notifier.findings import InvalidRules
from muster.notifier.rulebook import Rulebook, read

TOKEN = "5up3r-s3cret"
HOOK = f"https://open.feishu.cn/open-apis/bot/v2/hook/{TOKEN}"
VALUES = {
    ("env", "HOOK"): HOOK + "\n",
    ("env", "SAME_HOOK"): HOOK,
    ("env", "OTHER_HOOK"): HOOK + "x",
    ("env", "LOCAL"): "http://127.0.0.1:8099/open-apis/bot/v2/hook/abc",
    ("env", "EMPTY"): " \n",
    ("env", "LONG"): "s" * 129,
    ("file", "/run/secrets/sign"): "sign-s3cret\n",
}

OFFICIAL_ONLY = Allowlist()

GOOD = """
addresses:
  ops:
    webhook: {env: HOOK}
    secret: {file: /run/secrets/sign}
    keywords: [训练]
rules:
  - {id: parked, tenant: acme, scope: tenant, trigger: job_abnormal, address: ops}
  - id: mine
    tenant: acme
    scope: {me: alice}
    trigger: job_succeeded
    language: en
    channel: log
    enabled: false
  - {id: nlp, tenant: acme, scope: {labels: {team: nlp, a: b}}, trigger: job_queued, address: ops}
  - {id: one, tenant: acme, scope: {job: j1}, trigger: job_running, address: ops}
"""


def load(text: str, allowlist: Allowlist = OFFICIAL_ONLY) -> Rulebook:
    return read(textwrap.dedent(text), lambda kind, name: VALUES.get((kind, name)), allowlist)


def violations(text: str, allowlist: Allowlist = OFFICIAL_ONLY) -> list[tuple[str, str]]:
    with pytest.raises(InvalidRules) as caught:
        load(text, allowlist)
    said = str(caught.value) + repr(caught.value.violations)
    assert TOKEN not in said
    assert "s3cret" not in said
    assert all(v.en and v.zh for v in caught.value.violations)
    return [(v.code, v.path) for v in caught.value.violations]


def test_a_good_file() -> None:
    book = load(GOOD)
    parked, mine, nlp, one = book.rules
    assert (parked.trigger, parked.language, parked.channel) == (
        Trigger.JOB_ABNORMAL,
        "zh",
        "feishu",
    )
    assert (parked.address, parked.enabled, parked.since) == ("ops", True, None)
    assert (mine.scope.kind, mine.scope.user) == (ScopeKind.ME, "alice")
    assert (mine.channel, mine.address, mine.enabled, mine.language) == ("log", "", False, "en")
    assert nlp.scope.labels == (("a", "b"), ("team", "nlp"))
    assert one.scope.job == "j1"
    address = book.addresses["ops"]
    assert address.url.get_secret_value() == HOOK
    assert address.secret is not None
    assert address.secret.get_secret_value() == "sign-s3cret"
    assert address.keywords == ("训练",)
    assert TOKEN not in repr(book)


@pytest.mark.parametrize("text", ["", "rules: []", "{}"])
def test_nothing_is_a_good_file_too(text: str) -> None:
    assert load(text) == Rulebook()


def rules(*lines: str, addresses: str = "ops: {webhook: {env: HOOK}}") -> str:
    listed = "\n".join(f"  - {{{line}}}" for line in lines)
    return f"addresses:\n  {addresses}\nrules:\n{listed}\n"


RULE = "id: a, tenant: acme, scope: tenant, trigger: job_failed, address: ops"

BAD: dict[str, tuple[str, list[tuple[str, str]]]] = {
    "no trigger": (
        rules("id: a, tenant: acme, scope: tenant, address: ops"),
        [("E_RULE_TRIGGER", "$.rules[0].trigger")],
    ),
    "two triggers": (
        rules(RULE.replace("job_failed", "[job_failed, job_abnormal]")),
        [("E_RULE_TRIGGER", "$.rules[0].trigger")],
    ),
    "one trigger in a list": (
        rules(RULE.replace("job_failed", "[job_failed]")),
        [("E_RULE_TRIGGER", "$.rules[0].trigger")],
    ),
    "an unknown trigger": (
        rules(RULE.replace("job_failed", "job_stopped")),
        [("E_RULE_TRIGGER", "$.rules[0].trigger")],
    ),
    "the webhook itself in the file": (
        rules(RULE, addresses=f"ops: {{webhook: '{HOOK}'}}"),
        [("E_RULE_REFERENCE", "$.addresses.ops.webhook")],
    ),
    "a webhook elsewhere": (
        rules(RULE, addresses="ops: {webhook: {env: LOCAL}}"),
        [("E_WEBHOOK", "$.addresses.ops.webhook")],
    ),
    "an empty webhook": (
        rules(RULE, addresses="ops: {webhook: {env: EMPTY}}"),
        [("E_WEBHOOK", "$.addresses.ops.webhook")],
    ),
    "a reference to nothing": (
        rules(RULE, addresses="ops: {webhook: {env: NOWHERE}}"),
        [("E_RULE_REFERENCE", "$.addresses.ops.webhook")],
    ),
    "two references at once": (
        rules(RULE, addresses="ops: {webhook: {env: HOOK, file: /x}}"),
        [("E_RULE_REFERENCE", "$.addresses.ops.webhook")],
    ),
    "an empty secret": (
        rules(RULE, addresses="ops: {webhook: {env: HOOK}, secret: {env: EMPTY}}"),
        [("E_RULE_SECURITY", "$.addresses.ops.secret")],
    ),
    "a secret that is too long": (
        rules(RULE, addresses="ops: {webhook: {env: HOOK}, secret: {env: LONG}}"),
        [("E_RULE_SECURITY", "$.addresses.ops.secret")],
    ),
    "the secret itself in the file": (
        rules(RULE, addresses="ops: {webhook: {env: HOOK}, secret: my-s3cret}"),
        [("E_RULE_REFERENCE", "$.addresses.ops.secret")],
    ),
    "eleven keywords": (
        rules(RULE, addresses="ops: {webhook: {env: HOOK}, keywords: [a,b,c,d,e,f,g,h,i,j,k]}"),
        [("E_RULE_SECURITY", "$.addresses.ops.keywords")],
    ),
    "keywords that are no words": (
        rules(RULE, addresses="ops: {webhook: {env: HOOK}, keywords: [1]}"),
        [("E_RULE_SECURITY", "$.addresses.ops.keywords")],
    ),
    "the same rule twice": (
        rules(RULE, RULE.replace("id: a", "id: b")),
        [("E_RULE_DUP", "$.rules[1]")],
    ),
    "the same rule to one webhook under two names": (
        rules(
            RULE,
            RULE.replace("id: a", "id: b").replace("ops", "too"),
            addresses="{ops: {webhook: {env: HOOK}}, too: {webhook: {env: SAME_HOOK}}}",
        ),
        [("E_RULE_DUP", "$.rules[1]")],
    ),
    "one id for two rules": (
        rules(RULE, RULE.replace("job_failed", "job_queued")),
        [("E_RULE_DUP", "$.rules[1].id")],
    ),
    "an address that is not there": (
        rules(RULE.replace("address: ops", "address: dev")),
        [("E_RULE_SHAPE", "$.rules[0].address")],
    ),
    "no address": (
        rules(RULE.replace(", address: ops", "")),
        [("E_RULE_SHAPE", "$.rules[0].address")],
    ),
    "two scopes": (
        rules(RULE.replace("scope: tenant", "scope: {me: a, job: j1}")),
        [("E_RULE_SHAPE", "$.rules[0].scope")],
    ),
    "no labels": (
        rules(RULE.replace("scope: tenant", "scope: {labels: {}}")),
        [("E_RULE_SHAPE", "$.rules[0].scope")],
    ),
    "labels that are no texts": (
        rules(RULE.replace("scope: tenant", "scope: {labels: {a: 1}}")),
        [("E_RULE_SHAPE", "$.rules[0].scope")],
    ),
    "an unknown field": (
        rules(RULE + ", colour: red"),
        [("E_RULE_SHAPE", "$.rules[0].colour")],
    ),
    "a webhook pasted as a name": (
        rules(f"'{HOOK}': ops, " + RULE),
        [("E_RULE_SHAPE", "$.rules[0].[0]")],
    ),
    "not YAML": ("rules: [", [("E_RULE_SHAPE", "$")]),
    "not a mapping": ("- 1", [("E_RULE_SHAPE", "$")]),
    "rules that are no list": ("rules: {}", [("E_RULE_SHAPE", "$.rules")]),
    "a rule that is no mapping": (
        rules().rstrip() + " [x]",
        [
            ("E_RULE_SHAPE", "$.rules[0]"),
            ("E_RULE_SHAPE", "$.rules[0].id"),
            ("E_RULE_SHAPE", "$.rules[0].tenant"),
            ("E_RULE_SHAPE", "$.rules[0].scope"),
            ("E_RULE_TRIGGER", "$.rules[0].trigger"),
            ("E_RULE_SHAPE", "$.rules[0].address"),
        ],
    ),
    "everything wrong at once": (
        rules(
            "id: A, tenant: a.b, scope: all, trigger: x, language: fr, channel: mail,"
            " address: 1, enabled: 'yes'",
            addresses="ops: {webhook: {env: LOCAL}, secret: {env: LONG}, keywords: no}",
        ),
        [
            ("E_WEBHOOK", "$.addresses.ops.webhook"),
            ("E_RULE_SECURITY", "$.addresses.ops.secret"),
            ("E_RULE_SECURITY", "$.addresses.ops.keywords"),
            ("E_RULE_SHAPE", "$.rules[0].channel"),
            ("E_RULE_SHAPE", "$.rules[0].id"),
            ("E_RULE_SHAPE", "$.rules[0].tenant"),
            ("E_RULE_SHAPE", "$.rules[0].scope"),
            ("E_RULE_TRIGGER", "$.rules[0].trigger"),
            ("E_RULE_SHAPE", "$.rules[0].language"),
            ("E_RULE_SHAPE", "$.rules[0].address"),
            ("E_RULE_SHAPE", "$.rules[0].enabled"),
        ],
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_violations(name: str) -> None:
    text, expected = BAD[name]
    assert violations(text) == expected


def test_the_same_trigger_to_another_webhook_is_another_rule() -> None:
    book = load(
        rules(
            RULE,
            RULE.replace("id: a", "id: b").replace("ops", "too"),
            addresses="{ops: {webhook: {env: HOOK}}, too: {webhook: {env: OTHER_HOOK}}}",
        )
    )
    assert len(book.rules) == 2


def test_a_loopback_webhook_only_where_the_operator_named_it() -> None:
    text = rules(RULE, addresses="ops: {webhook: {env: LOCAL}}")
    assert load(text, Allowlist(frozenset({"http://127.0.0.1:8099"}))).rules
    other = Allowlist(frozenset({"http://127.0.0.1:8098"}))
    assert violations(text, other) == [("E_WEBHOOK", "$.addresses.ops.webhook")]


def test_texts_of_the_product() -> None:
    with pytest.raises(InvalidRules) as caught:
        load(rules(RULE.replace("job_failed", "[]"), addresses="ops: {webhook: {env: LOCAL}}"))
    webhook, trigger = caught.value.violations
    assert webhook.zh == "Webhook 地址不合法（不回显）"
    assert trigger.text("zh").startswith("同一条通知规则只能选择一个触发条件")
    assert trigger.text("en").startswith("a notification rule takes exactly one trigger")


def test_references_on_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_HOOK", "x")
    (tmp_path / "sign").write_text("y\n", encoding="utf-8")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    assert from_machine("env", "A_HOOK") == "x"
    assert from_machine("env", "NO_HOOK") is None
    assert from_machine("file", str(tmp_path / "sign")) == "y\n"
    assert from_machine("file", str(tmp_path / "none")) is None
    assert from_machine("file", str(tmp_path / "binary")) is None
    assert from_machine("file", "a\x00b") is None
