"""Every text exists in both languages, takes the same values, and is used somewhere."""

from __future__ import annotations

import re
import string
from enum import StrEnum
from pathlib import Path

import pytest

from muster.cli import texts
from muster.cli.catalogue import TEXTS
from muster.cli.exits import Exit
from muster.cli.language import chosen
from muster.cli.root import PANELS
from muster.domain.diagnosis import Action, Blame, Kind, Source, Spread, Stage
from muster.domain.evidence import Scope
from muster.domain.reasons import ReasonCode, texts_of
from muster.domain.sentences import SENTENCES
from muster.domain.state import DeadlineKind
from muster.fault_tolerance.core import history
from muster.fault_tolerance.core.rules import Role
from muster.fault_tolerance.rulebook import shipped

SOURCES = Path(texts.__file__).parent
_LITERAL = re.compile(r"""(?<!f)["']([a-z_]+(?:\.[a-z_0-9-]+)+|[a-z]+)["']""")
_PATTERN = re.compile(r'f"([a-z_]+\.[^"{]*)\{[^"]*"')


def _fields(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


@pytest.mark.parametrize("key", sorted(TEXTS))
def test_a_text_is_there_in_both_languages_with_the_same_values(key: str) -> None:
    english, chinese = TEXTS[key]
    assert bool(english) == bool(chinese)
    assert _fields(english) == _fields(chinese)


@pytest.mark.parametrize("key", sorted(TEXTS))
def test_an_english_text_has_no_chinese_in_it(key: str) -> None:
    assert not re.search(r"[一-鿿]", TEXTS[key][0])


_NAMED: dict[str, type[StrEnum]] = {
    "deadline": DeadlineKind,
    "diagnose.action": Action,
    "diagnose.blame": Blame,
    "diagnose.kind": Kind,
    "diagnose.role": Role,
    "diagnose.scope": Scope,
    "diagnose.source": Source,
    "diagnose.spread": Spread,
    "diagnose.stage": Stage,
}


@pytest.mark.parametrize("prefix", _NAMED)
def test_every_value_that_is_shown_has_a_word(prefix: str) -> None:
    assert [name for name in _NAMED[prefix] if f"{prefix}.{name}" not in TEXTS] == []


def test_every_lesson_of_history_has_a_sentence() -> None:
    source = Path(history.__file__).read_text(encoding="utf-8")
    lessons = set(re.findall(r'"(history\.[a-z_]+)"', source))
    assert len(lessons) > 4
    assert {name for name in lessons if f"faults.{name}" not in TEXTS} == set()


def _code() -> str:
    files = (path for path in SOURCES.rglob("*.py") if "catalogue" not in path.parts)
    return "\n".join(path.read_text(encoding="utf-8") for path in files)


def test_every_text_is_used() -> None:
    code = _code()
    literal, patterns = set(_LITERAL.findall(code)), set(_PATTERN.findall(code))
    # named without their family in the code, by whatever makes the key
    families = ("error.", "doctor.", "demo.proof.", "demo.say.", "demo.until.", "column.")

    def used(key: str) -> bool:
        bare = key.removesuffix(".fix")
        if bare in literal or any(bare.startswith(pattern) for pattern in patterns):
            return True
        if bare.startswith("exit."):
            return bare.removeprefix("exit.").upper() in Exit.__members__
        return any(
            bare.startswith(family) and f'"{bare.removeprefix(family)}"' in code
            for family in families
        )

    assert [key for key in TEXTS if not used(key)] == []


def test_every_error_and_finding_comes_with_a_remedy() -> None:
    bare = {key for key in TEXTS if key.startswith("error.") and not key.endswith(".fix")}
    assert {f"{key}.fix" for key in bare} <= TEXTS.keys()


def test_every_command_and_exit_code_is_explained() -> None:
    commands = [name for names in PANELS.values() for name in names]
    assert {f"help.{name}" for name in commands} <= TEXTS.keys()
    assert {f"exit.{code.name.lower()}" for code in Exit} <= TEXTS.keys()


@pytest.mark.parametrize(
    ("arguments", "environ", "language"),
    [
        ([], {}, "en"),
        ([], {"LANG": "zh_CN.UTF-8"}, "zh"),
        ([], {"LANG": "zh_CN.UTF-8", "LC_ALL": "C.UTF-8"}, "en"),
        ([], {"LANG": "en_US.UTF-8", "LC_MESSAGES": "zh_TW.UTF-8"}, "zh"),
        ([], {"LANG": "zh_CN.UTF-8", "LC_ALL": ""}, "zh"),
        ([], {"LANG": "en_US.UTF-8", "MUSTER_LANG": "zh"}, "zh"),
        (["list", "--lang", "zh"], {"LANG": "en_US.UTF-8"}, "zh"),
        (["--lang=en", "list"], {"LANG": "zh_CN.UTF-8"}, "en"),
        (["--lang=zh", "--lang", "en"], {}, "en"),
        (["--", "--lang", "zh"], {}, "en"),
        (["--lang", "fr"], {"LANG": "zh_CN"}, "zh"),
        (["--lang"], {}, "en"),
    ],
)
def test_the_language_is_chosen(
    arguments: list[str], environ: dict[str, str], language: str
) -> None:
    assert chosen(arguments, environ) == language


def test_a_hang_has_one_word_in_chinese_everywhere() -> None:
    texts = [
        *(zh for _, zh in TEXTS.values()),
        *(zh for _, zh in SENTENCES.values()),
        *(texts_of(code)[1] for code in ReasonCode),
        *(words.zh for rule in shipped().rules for words in (rule.what, rule.advice) if words),
    ]
    assert [text for text in texts if "挂起" in text or "Hang" in text] == []
    assert any("卡死" in text for text in texts)
