"""A Sphinx extension: formulas as MathML, which browsers draw without a script."""

from typing import Any

from docutils import nodes

from tlcourse.lessons.mathematics import to_mathml


def setup(app: Any) -> dict[str, bool]:
    """Registers the renderer `mathml`."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _inline(translator: Any, node: nodes.Element) -> None:
    translator.body.append(to_mathml(node.astext()))
    raise nodes.SkipNode


def _block(translator: Any, node: nodes.Element) -> None:
    formula = to_mathml(node.astext(), display=True)
    translator.body.append(f'<div class="formula">{formula}</div>')
    raise nodes.SkipNode
