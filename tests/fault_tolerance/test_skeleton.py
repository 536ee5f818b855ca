"""The beginning of a rule for an unknown failure: it passes the check that all rules pass."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.domain.evidence import Scope
from muster.fault_tolerance.core.skeleton import skeleton
from muster.fault_tolerance.rulebook import with_site

FRESH = "gadget 7 refused to frobnicate the widget at /data/run-12/x.bin"


def checked(folder: Path, text: str) -> bool:
    (folder / "site.yaml").write_text(text, encoding="utf-8")
    book = with_site(folder)  # raises with every fault
    rule = next(each for each in book.rules if each.id.startswith("site."))
    return rule.shadow and bool(rule.pattern.pattern)


@pytest.mark.parametrize(
    "excerpt",
    [
        f"step 1\n{FRESH}\nbye",
        "[rank0]: " + FRESH,
        'it said "no\\": widget failed\n',
        "\x1b[31mwidget: cannot frobnicate\x1b[0m",
        "训练失败: widget cannot be found",
        "nothing told here sounds like a cause",
    ],
)
def test_a_skeleton_passes_the_check(tmp_path: Path, excerpt: str) -> None:
    assert checked(tmp_path, skeleton("0a1b2c3d4e5f", excerpt))


def test_it_matches_the_same_failure_of_another_run(tmp_path: Path) -> None:
    checked(tmp_path, skeleton("0a1b2c3d4e5f", FRESH))
    again = FRESH.replace("7", "42").replace("run-12", "run-99")
    hits = with_site(tmp_path).read(Scope.LOG, again)
    assert [hit.rule.id for hit in hits if hit.rule.group == "site"] == ["site.f0a1b2c3d4e5f"]


@pytest.mark.parametrize("excerpt", ["", "\n\n", "1 2 3", "a b c"])
def test_nothing_is_made_of_nothing(excerpt: str) -> None:
    with pytest.raises(ValueError, match="no line of f1"):
        skeleton("f1", excerpt)


@given(st.text(max_size=300))
def test_whatever_a_job_printed_the_check_decides(
    tmp_path_factory: pytest.TempPathFactory, excerpt: str
) -> None:
    try:
        text = skeleton("0a1b2c3d4e5f", excerpt)
    except ValueError:
        return
    assert checked(tmp_path_factory.mktemp("rules"), text)
