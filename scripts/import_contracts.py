"""An import contract of our own: a pure package may import a named few modules and nothing else.

`forbidden` contracts list what is known to be bad; a pure package is better described by what is
good, so that a new library is out until somebody lets it in. Used by pyproject.toml, run by
`make imports`; nothing else imports it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from importlinter import Contract, ContractCheck, fields, output

if TYPE_CHECKING:
    from collections.abc import Iterable

    from grimp import ImportGraph


class AllowListContract(Contract):
    """Packages that may import themselves and the allowed modules with all that is in them.

    packages: expressions such as `muster.*.core`; one that matches nothing yet is fine.
    allowed:  names of modules; of a library only its top-level name.
    """

    type_name: ClassVar[str] = "allow_list"

    packages = fields.SetField(subfield=fields.ModuleExpressionField())
    allowed = fields.SetField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        # The library replaces each field by its parsed values when it makes an instance.
        expressions = [str(expression) for expression in cast("Iterable[object]", self.packages)]
        allowed = [str(name) for name in cast("Iterable[object]", self.allowed)]
        stray = [
            (importer, imported)
            for expression in expressions
            for package in sorted(graph.find_matching_modules(expression))
            for importer, imported in stray_imports(graph, package, [package, *allowed])
        ]
        return ContractCheck(kept=not stray, metadata={"stray": stray})

    def render_broken_contract(self, check: ContractCheck) -> None:
        for importer, imported in check.metadata["stray"]:
            output.print_error(f"{importer} must not import {imported}", bold=False)
        output.new_line()


def stray_imports(
    graph: ImportGraph, package: str, allowed: Iterable[str]
) -> Iterable[tuple[str, str]]:
    allowed = tuple(allowed)
    for importer in sorted({package, *graph.find_descendants(package)}):
        for imported in sorted(graph.find_modules_directly_imported_by(importer)):
            if not any(imported == name or imported.startswith(f"{name}.") for name in allowed):
                yield importer, imported
