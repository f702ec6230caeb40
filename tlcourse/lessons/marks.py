"""Reads and replaces the generated parts of a Markdown text, such as the README's tables.

A part is between two comments: `<!-- lessons: begin (…) -->` and `<!-- lessons: end -->`.
"""

import re


def between(text: str, name: str) -> str:
    """The text between the two marks called `name`; raises ValueError if there are none."""
    return _match(text, name)[2]


def replaced(text: str, name: str, content: str) -> str:
    """`text` with new content between the two marks; raises ValueError if there are none."""
    match = _match(text, name)
    content = content and content + "\n"
    return text[: match.start()] + match[1] + content + match[3] + text[match.end() :]


def _match(text: str, name: str) -> re.Match[str]:
    marks = rf"(<!-- {name}: begin[^>]*-->\n)(.*?)(<!-- {name}: end -->)"
    matches = list(re.finditer(marks, text, flags=re.DOTALL))
    if len(matches) != 1:
        raise ValueError(f"expected one pair of marks '<!-- {name}: begin -->', got {len(matches)}")
    return matches[0]
