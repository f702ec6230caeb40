"""What the code of the lessons imports and uses, for the guards."""

import ast
import re

from tlcourse.lessons import finding


def lessons_code() -> dict[str, str]:
    """The code of each lesson, by id, as one program; a line for IPython is `pass` in it."""
    return {
        lesson.id: "\n".join(
            re.sub(r"^( *)[%!].*$", r"\1pass", cell.source, flags=re.MULTILINE)
            for cell in finding.code_cells(finding.read_notebook(lesson.path))
        )
        for lesson in finding.every()
    }


def imports_of(code: str) -> list[tuple[str, str | None]]:
    """(module, name) of all that is imported from this package; the name is None for modules.

    `from tlcourse import corpora` gives ("tlcourse.corpora", None).
    """
    found: list[tuple[str, str | None]] = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            found += [(alias.name, None) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "tlcourse":
            found += [(f"tlcourse.{alias.name}", None) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found += [(node.module, alias.name) for alias in node.names]
    return [(module, name) for module, name in found if module.startswith("tlcourse.")]
