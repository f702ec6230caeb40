"""Converts formulas from TeX to MathML, which browsers draw without a script."""

import html
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from latex2mathml.commands import FUNCTIONS, LIMIT
from latex2mathml.converter import convert_to_element

OWN = {r"\arg": "arg"}  # LaTeX functions that latex2mathml does not know
NAMES = {*OWN.values(), *(name[1:] for name in (*FUNCTIONS, *LIMIT))}
ROWS = ("math", "mrow", "mstyle", "msqrt", "mtd")
SCRIPTS = {"msub": "munder", "msup": "mover", "msubsup": "munderover"}  # and their forms as limits
SIGNS = ("±", "∓", "‖", "⟹", "⟸", "⟺")  # operators that latex2mathml takes for letters
SPACE = {"width": "0.167em"}  # TeX's thin space beside the name of a function


def to_mathml(tex: str, *, display: bool = False) -> str:
    """The formula as `<math>`, or its TeX as `<code>` if it cannot be converted.

    With `display` it is on a line of its own, with limits above and below its operators.
    """
    try:
        math = convert_to_element(tex.strip(), display="block" if display else "inline")
    except Exception:  # latex2mathml raises errors of many kinds for a broken formula
        return _code(tex)
    for part in math.iter():
        part.text = OWN.get(part.text, html.unescape(part.text or ""))
        if part.tag == "mi" and part.text in SIGNS:
            part.tag = "mo"
        if part.text == "‖":
            part.set("stretchy", "false")  # otherwise a pair of them differs in height
        if part.text == "&" or "\\" in part.text:
            return _code(tex)
    for part in list(math.iter()):
        _join_letters(part)
        _space_functions(part)
    return ElementTree.tostring(math, encoding="unicode")


def _join_letters(part: Element) -> None:
    r"""Joins the letters of `\mathrm{softmax}` into one name, so that it is read aloud as one."""
    if len(part) > 1 and all(
        letter.tag == "mi" and letter.get("mathvariant") == "normal" for letter in part
    ):
        name = Element("mi")
        name.text = "".join(letter.text for letter in part)
        part[:] = [name]


def _space_functions(part: Element) -> None:
    """Puts thin spaces beside functions, as in `a cos b`, and limits below `max`."""
    if part.tag in SCRIPTS and part[0].tag == "mo" and _is_function(part):
        part.tag = SCRIPTS[part.tag]
        part[0].set("movablelimits", "true")
    if part.tag not in ROWS:
        return
    spaced: list[Element] = []
    for after in part:
        if after.tag == "mo" and _is_function(after):
            after.attrib |= {"lspace": "0", "rspace": "0"}
        beside = [*spaced[-1:], after]
        if len(beside) == 2 and any(map(_is_function, beside)) and not any(map(_is_sign, beside)):
            spaced.append(Element("mspace", SPACE))
        spaced.append(after)
    part[:] = spaced


def _is_function(part: Element) -> bool:
    """True if it is the name of a function, alone or with a base, a limit or a power."""
    return (part[0] if part.tag in (*SCRIPTS, *SCRIPTS.values()) else part).text in NAMES


def _is_sign(part: Element) -> bool:
    return part.tag in ("mo", "mspace") and not _is_function(part)


def _code(tex: str) -> str:
    return f"<code>{html.escape(tex.strip())}</code>"
