"""From the documents of a file to jobs that may be submitted, or every rule that they break.

The same rules, codes and words as admission's, checked before anything is sent; admission checks
again. Pure but for reading the file. Called by `submit`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from muster.cli.documents import Document, change, named, read_documents
from muster.cli.errors import Refusal
from muster.cli.texts import say
from muster.contracts.checking import check
from muster.domain.spec import JobSpec
from muster.domain.spec_rules import violations_of
from muster.domain.violations import Violation

ROOT = "$.spec"


@dataclass(frozen=True, slots=True)
class Job:
    """A job that keeps the rules. value: what is sent, as it was written."""

    name: str
    value: dict[str, Any]
    spec: JobSpec


def read_jobs(file: str, *, name: str | None = None, changes: Sequence[str] = ()) -> list[Job]:
    """Return the jobs of a file after changes. Raises CliError; Refusal lists every violation."""
    documents = read_documents(file, ROOT)
    for document in documents:
        for text in changes:
            change(document.value, text)
        if name is not None:
            document.value["name"] = name
    checked = [_checked(document) for document in documents]
    broken = [violation for _, violations in checked for violation in violations]
    if broken:
        raise Refusal("spec", broken, where=named(file), count=len(broken))
    return [job for job, _ in checked if job is not None]


def _checked(document: Document) -> tuple[Job | None, list[Violation]]:
    spec, violations = check(JobSpec, json.dumps(document.value), ROOT)
    if spec is not None:
        violations = list(violations_of(spec, ROOT))
    if spec is None or violations:
        return None, [_located(document, violation) for violation in violations]
    return Job(spec.name, document.value, spec), []


def _located(document: Document, violation: Violation) -> Violation:
    """Say on which line the field stands: the path stays as admission gives it."""
    line = document.line_of(violation.path)
    if line is None:
        return violation
    english, chinese = (
        f"{document.source}:{line}: {text}" for text in (violation.en, violation.zh)
    )
    return violation.model_copy(update={"en": english, "zh": chinese})


def title(job: Job) -> str:
    """Return how a job is called in messages."""
    return say("submit.what", name=job.name)
