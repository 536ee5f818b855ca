"""One broken rule of a request: code for machines, path of the field, text in two languages."""

from __future__ import annotations

from muster.domain.model import Frozen


class Violation(Frozen):
    """path is a JSON path such as `$.auto_queue.max_requeues`; no value of a secret stands here."""

    code: str
    path: str
    en: str
    zh: str

    def text(self, lang: str) -> str:
        """Return the sentence for `lang` ("zh" or anything else for English)."""
        return self.zh if lang == "zh" else self.en
