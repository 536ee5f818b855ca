"""Loading rules: shipped ones, a site's over them, and what happens when a file is wrong."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from prometheus_client import REGISTRY

from muster.domain.diagnosis import Action
from muster.domain.evidence import Scope
from muster.fault_tolerance import metrics, rulebook
from muster.fault_tolerance.core.rulefaults import FAULTS
from muster.fault_tolerance.core.ruleset import FIELDS, Source, read
from muster.fault_tolerance.rulebook import InvalidRules, Rules, shipped, with_site

SITE = """\
rules:
  - id: site.quota
    scope: log
    blame: storage
    action: hold
    what: {en: The site's quota is used up., zh: 站点配额已用尽。}
    pattern: 'quota service: refused'
    examples: ['quota service: refused for li']
    near_misses: ['quota service: accepted']
    advice: {en: Ask for more., zh: 请申请更多配额。, field: storage}
"""


def value(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


def written(folder: Path, text: str, name: str = "site.yaml") -> Path:
    path = folder / name
    before = path.stat().st_mtime_ns if path.exists() else 0
    path.write_text(text, encoding="utf-8")
    # a coarse clock of the file system must not hide the change
    os.utime(path, ns=(before + 10**9, before + 10**9))
    return folder


def test_a_site_adds_rules_and_the_version_says_so(tmp_path: Path) -> None:
    book = with_site(written(tmp_path, SITE))
    assert len(book.rules) == len(shipped().rules) + 1
    assert book.version.startswith(f"{shipped().version}.")
    (hit,) = book.read(Scope.LOG, "quota service: refused for wang")
    assert hit.rule.id == "site.quota"


def test_the_version_changes_with_the_content_alone(tmp_path: Path) -> None:
    first = with_site(written(tmp_path, SITE)).version
    assert with_site(written(tmp_path, SITE)).version == first
    assert with_site(written(tmp_path, SITE + "\n")).version != first


def test_a_site_may_replace_a_shipped_rule(tmp_path: Path) -> None:
    text = SITE.replace("site.quota", "gpu.ecc").replace("action: hold", "action: exclude")
    book = with_site(written(tmp_path, text))
    rule = book.rule("gpu.ecc")
    assert rule is not None
    assert rule.action is Action.EXCLUDE
    assert len(book.rules) == len(shipped().rules)


def test_a_site_may_switch_a_shipped_rule_off(tmp_path: Path) -> None:
    book = with_site(written(tmp_path, "rules:\n  - {id: gpu.ecc, disabled: true}\n"))
    assert book.rule("gpu.ecc") is None
    assert len(book.rules) == len(shipped().rules) - 1


def test_switching_off_what_there_is_not_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(InvalidRules, match=r"gpu\.ec: disabled switches off a rule"):
        with_site(written(tmp_path, "rules:\n  - {id: gpu.ec, disabled: true}\n"))


def test_a_changed_file_is_in_force_at_the_next_failure(tmp_path: Path) -> None:
    rules = Rules(tmp_path)
    assert rules.current().rule("site.quota") is None
    written(tmp_path, SITE)
    assert rules.current().rule("site.quota") is not None
    (tmp_path / "site.yaml").unlink()
    assert rules.current().rule("site.quota") is None


def test_what_has_not_changed_is_not_read_again(tmp_path: Path) -> None:
    rules = Rules(written(tmp_path, SITE))
    assert rules.current() is rules.current()


def test_a_broken_file_keeps_the_last_good_rules_and_is_counted(tmp_path: Path) -> None:
    rules = Rules(written(tmp_path, SITE))
    good = rules.current()
    written(tmp_path, SITE.replace("action: hold", "action: explode"))
    assert rules.current() is good
    assert value("muster_fault_rule_faults") == 1
    written(tmp_path, SITE.replace("refused'", "refused.'"))
    assert rules.current() is not good
    assert value("muster_fault_rule_faults") == 0


@pytest.mark.parametrize("text", ["rules: [", "rules: {a: 1}", "- 1", "", "\x00", "rules: [1]"])
def test_a_file_that_is_no_rules_at_all_leaves_the_shipped_ones(tmp_path: Path, text: str) -> None:
    assert Rules(written(tmp_path, text)).current().version == shipped().version


def test_bytes_that_are_no_text_leave_the_shipped_ones(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(b"\xff\xfe\x00")
    assert Rules(tmp_path).current().version == shipped().version


def test_a_folder_that_is_not_there_leaves_the_shipped_ones(tmp_path: Path) -> None:
    assert Rules(tmp_path / "none").current().version == shipped().version
    assert value("muster_fault_rule_faults") == 1


def test_rules_in_shadow_are_shown_and_counted(tmp_path: Path) -> None:
    book = Rules(written(tmp_path, SITE + "    shadow: true\n")).current()
    assert value("muster_fault_rules", state="shadow") == sum(r.shadow for r in book.rules)
    before = value("muster_fault_shadow_hits_total", rule="site.quota")
    metrics.count_shadows(["site.quota", "site.quota"])
    assert value("muster_fault_shadow_hits_total", rule="site.quota") == before + 1


ENTRY = {
    "id": "a.b",
    "scope": "log",
    "blame": "user",
    "action": "stop",
    "what": {"en": "It broke.", "zh": "出错。"},
    "pattern": "it broke",
    "examples": ["it broke"],
    "near_misses": ["it bent"],
    "advice": {"en": "Mend it.", "zh": "请修复。"},
}


@pytest.mark.parametrize(
    ("change", "code", "field"),
    [
        ({"id": "Bad"}, "id", "id"),
        ({"id": "nodot"}, "id", "id"),
        ({"id": None}, "id", "id"),
        ({"colour": "red"}, "unknown", "colour"),
        ({"scope": "moon"}, "word", "scope"),
        ({"role": "extra"}, "word", "role"),
        ({"blame": "weather"}, "word", "blame"),
        ({"kind": "often"}, "word", "kind"),
        ({"action": 3}, "word", "action"),
        ({"flags": "x"}, "word", "flags"),
        ({"stages": ["early"]}, "word", "stages"),
        ({"shadow": "yes"}, "flag", "shadow"),
        ({"weak": 1}, "flag", "weak"),
        ({"disabled": "no"}, "flag", "disabled"),
        ({"examples": "it broke"}, "texts", "examples"),
        ({"near_misses": []}, "missing", "near_misses"),
        ({"examples": []}, "missing", "examples"),
        ({"pattern": ""}, "missing", "pattern"),
        ({"pattern": "("}, "pattern", "pattern"),
        ({"unless": "["}, "pattern", "unless"),
        ({"pattern": "(it|it broke)+(x+)+"}, "slow", "pattern"),
        ({"pattern": "it.*broke.*"}, "slow", "pattern"),
        ({"pattern": "i[a-z] \\w+"}, "literal", "literals"),
        ({"codes": [1]}, "code", "pattern"),
        ({"codes": ["x"]}, "numbers", "codes"),
        ({"exit_codes": ["9-1"]}, "numbers", "exit_codes"),
        ({"exit_codes": 1}, "numbers", "exit_codes"),
        ({"examples": ["it held"]}, "example", "examples"),
        ({"near_misses": ["so it broke"]}, "near_miss", "near_misses"),
        ({"advice": None}, "advice", "advice"),
        ({"advice": None, "action": "retry_once"}, "advice", "advice"),
        ({"advice": {"en": "Mend it."}}, "bilingual", "advice"),
        ({"what": None}, "bilingual", "what"),
        ({"what": {"en": "x", "zh": "", "field": "y"}}, "bilingual", "what"),
    ],
)
def test_a_fault_names_file_rule_and_field(
    change: dict[str, object], code: str, field: str
) -> None:
    reading = read([Source("x.yaml", {"rules": [ENTRY | change]})])
    told = {(fault.code, fault.field) for fault in reading.faults}
    assert (code, field) in told
    assert reading.rules == {}
    for fault in reading.faults:
        assert fault.text().startswith(f"x.yaml: {fault.rule}: {fault.field} ")
        assert fault.text(chinese=True) != fault.text()


def test_a_sound_rule_has_no_fault() -> None:
    reading = read([Source("x.yaml", {"group": "g", "rules": [ENTRY]})])
    assert reading.faults == []
    assert reading.rules["a.b"].group == "g"
    assert reading.rules["a.b"].literals == ("it broke",)


def test_defaults_of_a_file_fill_what_a_rule_leaves_out() -> None:
    entry = {k: v for k, v in ENTRY.items() if k != "scope"}
    reading = read([Source("x.yaml", {"defaults": {"scope": "kernel"}, "rules": [entry]})])
    assert reading.rules["a.b"].scope is Scope.KERNEL


def test_the_same_id_twice_is_a_fault_in_one_file_or_two() -> None:
    reading = read([Source("x.yaml", {"rules": [ENTRY]}), Source("y.yaml", {"rules": [ENTRY]})])
    assert [(f.file, f.code) for f in reading.faults] == [("y.yaml", "double")]


def test_every_fault_has_words_in_both_languages_and_every_field_is_documented() -> None:
    assert all(english and chinese for english, chinese in FAULTS.values())
    page = Path(__file__).parents[2] / "docs" / "failure-rules.md"
    text = page.read_text(encoding="utf-8")
    assert [name for name in FIELDS if f"`{name}`" not in text] == []


@pytest.mark.parametrize(("text", "code"), [("code 79", 79), ("code x", None), ("code ²", None)])
def test_a_group_that_holds_no_number_is_no_number(
    tmp_path: Path, text: str, code: int | None
) -> None:
    site = SITE.replace("quota service: refused'", r"\bcode (?P<code>\S{1,9})'")
    site = site.replace("['quota service: refused for li']", "['code 7']")
    (hit,) = with_site(written(tmp_path, site)).read(Scope.LOG, text)
    assert (hit.rule.id, hit.code) == ("site.quota", code)


def test_the_shipped_rules_need_no_site() -> None:
    assert Rules().current().version == shipped().version
    assert rulebook.VERSION in shipped().version
