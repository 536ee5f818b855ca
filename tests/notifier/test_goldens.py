"""Every card as people will see it: a change of one is a change somebody has looked at."""

from __future__ import annotations

import pytest

from muster.notifier.channels.feishu import MAX_BODY
from muster.notifier.core.message import Message, encode
from muster.notifier.core.notice import Language, Trigger
from tests.notifier.goldens import FACTS, FOLDER, goldens, hundred, text_of

MADE = dict(goldens())


@pytest.mark.parametrize("name", MADE)
def test_the_message_is_the_one_that_was_looked_at(name: str) -> None:
    assert text_of(MADE[name]) == (FOLDER / f"{name}.json").read_text(encoding="utf-8")


def test_there_is_a_file_for_every_message_and_no_other() -> None:
    assert {path.stem for path in FOLDER.glob("*.json")} == set(MADE)


def test_every_trigger_has_a_message() -> None:
    of_machines = {Trigger.NODE_EXCLUDED, Trigger.INCIDENT}
    assert {trigger for trigger, _ in FACTS.values()} | of_machines == set(Trigger)


@pytest.mark.parametrize("language", ["zh", "en"])
def test_after_a_resume_it_says_what_to_check(language: Language) -> None:
    told = MADE[f"running-again.{language}"].text
    wanted = {
        "zh": "通知只提示状态变化，请检查 checkpoint 加载记录",
        "en": "Check the log for the checkpoint-loaded line",
    }
    assert wanted[language] in told


@pytest.mark.parametrize("language", ["zh", "en"])
def test_the_largest_digest_names_every_job_and_fits(language: Language) -> None:
    made: Message = hundred(language)
    assert all(f"sweep-{number:03}" in made.text for number in range(100))
    assert len(encode({"msg_type": "interactive", "card": made.card}).encode()) < MAX_BODY - 500
