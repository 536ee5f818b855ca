"""Where a card's links lead: templates of the operator's, with names put in safely. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from muster.notifier.core.notice import Language
from muster.notifier.core.texts import say


@dataclass(frozen=True, slots=True)
class Links:
    """Templates with {tenant} and {job}; "" = there is no such page."""

    job: str = ""
    log: str = ""
    timeline: str = ""

    def of_job(self, tenant: str, job: str, language: Language) -> tuple[tuple[str, str], ...]:
        """Return (label, URL) of each page of a job."""
        return tuple(
            (say(label, language), _filled(template, tenant, job))
            for label, template in self._pages()
        )

    def _pages(self) -> Iterator[tuple[str, str]]:
        for label, template in (
            ("link.job", self.job),
            ("link.log", self.log),
            ("link.timeline", self.timeline),
        ):
            if template:
                yield label, template


NO_LINKS = Links()


def _filled(template: str, tenant: str, job: str) -> str:
    """Return the URL; a tenant's and a job's id hold nothing that means something in one."""
    return template.replace("{tenant}", tenant).replace("{job}", job)
