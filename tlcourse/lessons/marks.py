"""What a command writes between two marks in a Markdown text, such as the README's tables.

A mark is a comment that is not shown: `<!-- lessons: begin (…) -->` and `<!-- lessons: end -->`.
"""

import re


def between(text: str, name: str) -> str:
    """What stands between the two marks called `name`; ValueError if there are none."""
    return _found(text, name)[2]


def replaced(text: str, name: str, content: str) -> str:
    """`text` with other content between the two marks; ValueError if there are none."""
    found = _found(text, name)
    content = content and content + "\n"
    return text[: found.start()] + found[1] + content + found[3] + text[found.end() :]


def _found(text: str, name: str) -> re.Match[str]:
    marks = rf"(<!-- {name}: begin[^>]*-->\n)(.*?)(<!-- {name}: end -->)"
    found = list(re.finditer(marks, text, flags=re.DOTALL))
    if len(found) != 1:
        raise ValueError(f"expected one pair of marks '<!-- {name}: begin -->', got {len(found)}")
    return found[0]
