"""A notebook as one self-contained HTML page, with formulas, pictures and alt texts."""

import base64
import mimetypes
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from bs4 import BeautifulSoup, Tag
from jinja2 import pass_context
from nbconvert import HTMLExporter
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

from tlcourse.lessons import finding
from tlcourse.lessons.mathematics import to_mathml

# The page must not load anything, while nbconvert's template loads scripts from elsewhere. It also
# omits the alt text in a figure's metadata.
TEMPLATE = """
{%- extends 'lab/index.html.j2' -%}
{%- block html_head_js -%}
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:;
 media-src data:; font-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
{%- endblock -%}
{%- block jupyter_widgets -%}{%- endblock -%}
{%- block html_head_js_mathjax -%}
<style>
math {
  font-family: math, "STIX Two Math", "STIX Math", "DejaVu Math TeX Gyre", serif;
  font-size: 1.15em;
}
mtext[mathvariant="monospace"] { font-family: monospace; }
</style>
{%- endblock -%}
{%- block html_head_js_mermaidjs -%}{%- endblock -%}
{%- block data_latex -%}
<div class="jp-RenderedLatex jp-OutputArea-output" data-mime-type="text/latex">
{{ output.data['text/latex'] | markdown2html }}
</div>
{%- endblock -%}
{%- block data_png -%}
{%- set alt = output | get_metadata('alt', 'image/png') -%}
{%- if alt -%}
{{ super() | replace('<img ', '<img alt="' ~ (alt | escape_html) ~ '" ', 1) }}
{%- else -%}
{{ super() }}
{%- endif -%}
{%- endblock -%}
"""
# The first of these that an output has is shown; widgets and scripts would need a kernel.
SHOWN = ["text/html", "text/markdown", "image/svg+xml", "text/latex", "image/png", "image/jpeg"]
SHOWN += ["text/plain"]
BADGE = "https://colab.research.google.com/"  # its picture is only a link's, so it is omitted


def to_html(path: Path, say: Callable[[str], Any] = print) -> str:
    """The HTML page of the notebook at `path`.

    A picture that is neither in the notebook nor in a file beside it is replaced by its alt text,
    and reported by `say`. Raises ValueError for a file that is not a notebook.
    """
    notebook = finding.read_notebook(path)
    exporter = HTMLExporter(raw_template=TEMPLATE, filters={"markdown2html": _markdown})
    exporter.config.NbConvertBase.display_data_priority = SHOWN
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about languages that Pygments cannot colour
        page, _ = exporter.from_notebook_node(notebook, {"metadata": {"name": path.stem}})
    return _alone(page, path.parent, say)


class _Renderer(IPythonRenderer):
    """Markdown to HTML with formulas as MathML; pictures keep their addresses."""

    def inline_math(self, body: str) -> str:
        return to_mathml(body)

    def block_math(self, body: str) -> str:
        return to_mathml(body, display=True)

    def latex_environment(self, name: str, body: str) -> str:
        return to_mathml(rf"\begin{{{name}}}{body}\end{{{name}}}", display=True)

    def image(self, text: str, url: str, title: str | None = None) -> str:
        return super(IPythonRenderer, self).image(text, url, title)


def markdown(source: str) -> str:
    """Markdown as HTML, with its formulas as MathML."""
    return MarkdownWithMath(_Renderer(escape=False)).render(source)


@pass_context
def _markdown(context: Mapping[str, Any], source: str) -> str:
    """The HTML of a cell's Markdown, with its attachments embedded."""
    page = markdown(source)
    attachments = (context.get("cell") or {}).get("attachments", {})
    if not attachments:
        return page
    soup = BeautifulSoup(page, features="html.parser")
    for picture in soup.select("img[src^='attachment:']"):
        name = unquote(picture["src"].removeprefix("attachment:"))
        for kind, content in attachments.get(name, {}).items():
            picture["src"] = f"data:{kind};base64,{content}"
    return str(soup)


def _alone(page: str, folder: Path, say: Callable[[str], Any]) -> str:
    """The page with pictures of `folder` embedded and all other external resources removed."""
    soup = BeautifulSoup(page, features="html.parser")
    for external in soup.select("script[src], link[href]"):
        external.decompose()
    for link in soup.select("a[href]"):
        _relink(link)
    for picture in soup.select("img"):
        source = picture.get("src", "")
        if not source.startswith("data:"):
            data_url = _data_url(folder, source)
            if data_url:
                picture["src"] = data_url
            else:
                if not source.startswith(BADGE):
                    say(f"left out: the picture {source}, which is not there")
                picture.replace_with(picture.get("alt", ""))
    return str(soup)


def _relink(link: Tag) -> None:
    """Points a link to another lesson at its page, and replaces one to another file by its text."""
    parts = urlsplit(str(link["href"]))
    if parts.scheme or parts.netloc or not parts.path:
        return
    if parts.path.endswith(".ipynb"):
        link["href"] = parts._replace(path=f"{parts.path.removesuffix('.ipynb')}.html").geturl()
    else:
        link.unwrap()


def _data_url(folder: Path, address: str) -> str | None:
    """A picture beside the notebook as a data URL; None if there is none."""
    parts = urlsplit(address)
    path = folder / unquote(parts.path)
    kind = mimetypes.guess_type(path.name)[0] or ""
    if parts.scheme or parts.netloc or not kind.startswith("image/") or not path.is_file():
        return None
    return f"data:{kind};base64,{base64.b64encode(path.read_bytes()).decode('ascii')}"
