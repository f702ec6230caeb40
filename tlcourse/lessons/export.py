"""A notebook as one page of HTML, where every figure has its alt text."""

from typing import Any

# nbconvert's page of JupyterLab leaves out the alt text that the metadata of a figure hold.
TEMPLATE = """
{%- extends 'lab/index.html.j2' -%}
{%- block data_png -%}
{%- set alt = output | get_metadata('alt', 'image/png') -%}
{%- if alt -%}
{{ super() | replace('<img ', '<img alt="' ~ (alt | escape_html) ~ '" ', 1) }}
{%- else -%}
{{ super() }}
{%- endif -%}
{%- endblock -%}
"""


def to_html(notebook: Any, title: str) -> str:
    """The page, pictures inside."""
    from nbconvert import HTMLExporter

    exporter = HTMLExporter(raw_template=TEMPLATE)
    return exporter.from_notebook_node(notebook, {"metadata": {"name": title}})[0]
