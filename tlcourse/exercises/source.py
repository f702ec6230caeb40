"""The text of what a learner wrote: cut from its cell, and whether there is anything in it yet.

`inspect.getsource` fails on classes of a notebook, so the text is found through a method's code, or
in the cells that were run.
"""

import ast
import builtins
import dis
import linecache
import sys
import textwrap
import warnings
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType
from typing import Any

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Value = ast.Assign | ast.AnnAssign | ast.AugAssign
STORES = {"STORE_NAME", "STORE_GLOBAL"}
OF_A_MODULE = {"__name__", "__annotations__"}
HANDED_IN = {"exercise", "yours", "Exercise"}  # a line that calls one is no part of an answer


def _code(candidate: Any) -> CodeType | None:
    """The code of a function, or of some method of a class; None where there is none."""
    if isinstance(candidate, type):
        methods = (getattr(each, "__func__", each) for each in vars(candidate).values())
        codes = [_code(each) for each in methods if isinstance(each, FunctionType)]
        own = f"{candidate.__qualname__}."
        return next((code for code in codes if code and code.co_qualname.startswith(own)), None)
    while "__wrapped__" in getattr(candidate, "__dict__", ()):  # by `cache`, `no_grad` and such
        candidate = candidate.__wrapped__
    return getattr(candidate, "__code__", None)


def cell_of(candidate: Any) -> str:
    """The text of the cell, or file, that defines a function or class; "" if it is not found."""
    code = _code(candidate)
    if code is not None:
        return "".join(linecache.getlines(code.co_filename))
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    wanted = getattr(candidate, "__name__", None)
    for cell in reversed(shell.user_ns.get("In", []) if shell else []):
        if any(isinstance(node, Definition) and node.name == wanted for node in _parsed(cell)):
            return cell
    return ""


def _parsed(text: str) -> list[ast.stmt]:
    """The statements of a text; none if it is no Python."""
    try:
        return compiled(text, flags=ast.PyCF_ONLY_AST).body
    except (SyntaxError, ValueError):
        return []


def compiled(text: str, name: str = "<answer>", flags: int = 0) -> Any:
    """The code of a text; what Python warns of, it did when the cell was run."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compile(text, name, "exec", flags)


def node_of(candidate: Any, text: str) -> ast.AST | None:
    """The node of `text` that defines the candidate: by its name and, of a function, its line."""
    code = _code(candidate)
    is_it = _is_class if isinstance(candidate, type) else _is_function
    every = ast.walk(ast.Module(_parsed(text), []))
    return next((each for each in every if is_it(each, candidate, code)), None)


def _is_class(node: ast.AST, candidate: type, code: CodeType | None) -> bool:
    if not isinstance(node, ast.ClassDef) or node.name != candidate.__name__:
        return False
    return code is None or node.lineno <= code.co_firstlineno <= (node.end_lineno or 0)


def _is_function(node: ast.AST, candidate: Any, code: CodeType | None) -> bool:
    if code is None:
        return False
    named = isinstance(node, ast.Assign) and len(node.targets) == 1
    value = node.value if named and isinstance(node.targets[0], ast.Name) else node
    if isinstance(value, ast.Lambda):
        return code.co_name == "<lambda>" and value.lineno == code.co_firstlineno
    named = isinstance(node, Definition) and node.name == code.co_name
    return named and _first_line(node) == code.co_firstlineno


def _first_line(node: ast.AST) -> int:
    """The line on which a definition begins, its decorators included."""
    return min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))])


def cut(candidate: Any) -> tuple[str, str]:
    """The name and the text of a function or class, with what it uses of the same cell.

    Taken along are imports, functions, classes and values of the cell that it reads. Both are ""
    where the text is not to be found.
    """
    text = cell_of(candidate)
    node = node_of(candidate, text)
    if node is None:
        return "", ""
    if isinstance(node, ast.Lambda):  # one without a name
        own, name = f"answer = ({_segment(text, node)})", "answer"
    else:
        own = _segment(text, node)
        name = node.targets[0].id if isinstance(node, ast.Assign) else node.name
    pieces, wanted = {_place(node): own}, _reads(own)
    around = [each for each in _parsed(text) if _is_part(each)]
    while more := [n for n in around if _place(n) not in pieces and _defines(n) & wanted]:
        for each in more:
            pieces[_place(each)] = _segment(text, each)
            wanted |= _reads(pieces[_place(each)])
    return name, "\n\n".join(pieces[place] for place in sorted(pieces)) + "\n"


def _place(node: ast.AST) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _segment(text: str, node: ast.AST) -> str:
    """The text of a node, its decorators included, moved to the margin."""
    ends = {"end_lineno": node.end_lineno, "end_col_offset": node.end_col_offset}
    whole = ast.Pass(lineno=_first_line(node), col_offset=node.col_offset, **ends)
    nested = isinstance(node, Definition) and node.col_offset > 0
    segment = ast.get_source_segment(text, whole, padded=nested) or ""
    return textwrap.dedent(segment) if nested else segment


def _is_part(node: ast.stmt) -> bool:
    """Whether a statement may be part of an answer; one that hands an answer in is none."""
    if isinstance(node, Value):
        calls = [each.func for each in ast.walk(node) if isinstance(each, ast.Call)]
        return not any(isinstance(each, ast.Name) and each.id in HANDED_IN for each in calls)
    return isinstance(node, Definition | ast.Import | ast.ImportFrom)


def _reads(text: str) -> set[str]:
    """The names that a text reads from outside; none of one that does not stand alone."""
    try:
        code = compiled(text)
    except SyntaxError:
        return set()
    return {name for each in _codes(code) for name in _read_outside(each)}


def _defines(node: ast.stmt) -> set[str]:
    if isinstance(node, Definition):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {(each.asname or each.name).split(".")[0] for each in node.names}
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return {n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)}


def outside_names(text: str, known: Iterable[str]) -> list[str]:
    """The names that a text reads, and that neither it nor `known` nor Python itself defines."""
    code = compiled(text)
    used = {name for each in _codes(code) for name in _read_outside(each)}
    stored = {step.argval for step in dis.get_instructions(code) if step.opname in STORES}
    return sorted(used - stored - set(known) - set(vars(builtins)) - OF_A_MODULE)


def _read_outside(code: CodeType) -> Iterator[str]:
    """The global names that a piece of code reads; in a class body, those it has not set itself."""
    steps = list(dis.get_instructions(code))
    own = {step.argval for step in steps if step.opname in STORES}
    for step in steps:
        if step.opname == "LOAD_GLOBAL" or (step.opname == "LOAD_NAME" and step.argval not in own):
            yield step.argval


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _codes(each)


def is_unwritten(candidate: Any, reference: Any) -> bool:
    """Whether there is nothing in it yet: no value, or a body that is `...` or still has `x = ...`.

    Of a class, each method that the reference has, too, is asked.
    """
    if candidate is None or candidate is ...:
        return True
    if isinstance(candidate, FunctionType):
        return _empty(candidate)
    if isinstance(candidate, type) and isinstance(reference, type):
        methods = [each for each in vars(candidate).items() if isinstance(each[1], FunctionType)]
        wanted = {n for n, f in vars(reference).items() if isinstance(f, FunctionType)}
        return any(name in wanted and _empty(method) for name, method in methods)
    return False


def _empty(function: FunctionType) -> bool:
    node = node_of(function, cell_of(function))
    if not isinstance(node, Definition):
        return _gives_nothing(_code(function))
    if all(_says_nothing(each) for each in node.body):
        return True
    gaps = (ast.Assign, ast.AnnAssign, ast.Return)
    return any(
        isinstance(each, gaps) and isinstance(each.value, ast.Constant) and each.value.value is ...
        for each in ast.walk(node)
    )


def _says_nothing(node: ast.stmt) -> bool:
    """A docstring, `...`, `pass`, `return`, or a branch that never comes."""
    if isinstance(node, ast.If):
        return isinstance(node.test, ast.Constant) and not node.test.value
    if isinstance(node, ast.Return):
        return node.value is None or (
            isinstance(node.value, ast.Constant) and node.value.value is None
        )
    return isinstance(node, ast.Pass) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    )


def _gives_nothing(code: CodeType) -> bool:
    """Of a function without a text: whether it does nothing but return None or `...`."""
    empty = {"RESUME", "NOP", "COPY_FREE_VARS", "MAKE_CELL"}
    steps = [step for step in dis.get_instructions(code) if step.opname not in empty]
    gives = {"LOAD_CONST", "RETURN_VALUE", "RETURN_CONST"}
    return all(step.opname in gives and step.argval in (None, ...) for step in steps)


def statements(function: FunctionType) -> list[str]:
    """What a function does, without docstring and comments; none if its text is not to be had."""
    node = node_of(function, cell_of(function))
    if not isinstance(node, ast.FunctionDef):
        return []
    return [ast.unparse(each) for each in node.body[ast.get_docstring(node) is not None :]]
