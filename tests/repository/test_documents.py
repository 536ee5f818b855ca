"""Documents that cannot drift: generated pages match the code, and every named path exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scripts.generate_docs import FOLDER, PAGES

ROOT = Path(__file__).parents[2]
WRITTEN = [
    *ROOT.glob("*.md"),
    *ROOT.glob("docs/*.md"),
    *ROOT.glob("docs/decisions/*.md"),
    *ROOT.glob("services/*/README.md"),
    *ROOT.glob("deploy/README.md"),
]


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_page_is_what_the_code_says(name: str) -> None:
    page = (FOLDER / name).read_text(encoding="utf-8")
    assert page == PAGES[name](), "run `make docs`"


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_into_the_project_leads_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    missing = [target for target in targets if not (page.parent / target).exists()]
    assert missing == []


def test_both_readmes_give_the_two_commands() -> None:
    for name in ("README.md", "README.zh.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert "make demo" in text
        assert "make test" in text
