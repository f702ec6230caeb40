"""Finds the source of a learner's answer in its cell, and tells if it is still unwritten.

`inspect.getsource` fails for classes defined in a notebook, so their source is found through the
code of a method, or in the cells that were run.
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
CHECKS = {"exercise", "yours", "Exercise"}  # a line that calls one is not part of an answer


def _code(candidate: Any) -> CodeType | None:
    """The code of a function, or of a method of a class; None if there is none."""
    if isinstance(candidate, type):
        methods = (getattr(value, "__func__", value) for value in vars(candidate).values())
        codes = [_code(method) for method in methods if isinstance(method, FunctionType)]
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
    """The statements of a text; none if it is not valid Python."""
    try:
        return compiled(text, flags=ast.PyCF_ONLY_AST).body
    except (SyntaxError, ValueError):
        return []


def compiled(text: str, name: str = "<answer>", flags: int = 0) -> Any:
    """The code of a text, compiled without warnings, which were shown when the cell was run."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compile(text, name, "exec", flags)


def node_of(candidate: Any, text: str) -> ast.AST | None:
    """The node of `text` that defines the candidate, found by name and, for a function, line."""
    code = _code(candidate)
    defines = _is_class if isinstance(candidate, type) else _is_function
    nodes = ast.walk(ast.Module(_parsed(text), []))
    return next((node for node in nodes if defines(node, candidate, code)), None)


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
    """The first line of a definition with its decorators."""
    return min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])


def cut(candidate: Any, *, without: Iterable[str] = ()) -> tuple[str, str]:
    """The name and the source of a function or class, with everything that it uses of its cell.

    The source includes imports, functions, classes and values of the cell that it reads, but not
    those that define a name of `without`. Both are "" if the source cannot be found.
    """
    text = cell_of(candidate)
    node = node_of(candidate, text)
    if node is None:
        return "", ""
    if isinstance(node, ast.Lambda):  # not assigned to a name
        own, name = f"answer = ({_segment(text, node)})", "answer"
    else:
        own = _segment(text, node)
        name = node.targets[0].id if isinstance(node, ast.Assign) else node.name
    pieces, wanted = {_place(node): own}, reads(own)
    parts = [statement for statement in _parsed(text) if is_part(statement)]
    statements = [statement for statement in parts if defines(statement).isdisjoint(without)]
    while more := [n for n in statements if _place(n) not in pieces and defines(n) & wanted]:
        for statement in more:
            pieces[_place(statement)] = _segment(text, statement)
            wanted |= reads(pieces[_place(statement)])
    return name, "\n\n".join(pieces[place] for place in sorted(pieces)) + "\n"


def _place(node: ast.AST) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _segment(text: str, node: ast.AST) -> str:
    """The source of a node with its decorators, dedented."""
    ends = {"end_lineno": node.end_lineno, "end_col_offset": node.end_col_offset}
    whole = ast.Pass(lineno=_first_line(node), col_offset=node.col_offset, **ends)
    nested = isinstance(node, Definition) and node.col_offset > 0
    segment = ast.get_source_segment(text, whole, padded=nested) or ""
    return textwrap.dedent(segment) if nested else segment


def is_part(node: ast.stmt) -> bool:
    """True if a statement may be part of an answer; a call of `exercise` may not."""
    if isinstance(node, Value):
        calls = [call.func for call in ast.walk(node) if isinstance(call, ast.Call)]
        return not any(isinstance(name, ast.Name) and name.id in CHECKS for name in calls)
    return isinstance(node, Definition | ast.Import | ast.ImportFrom)


def reads(text: str) -> set[str]:
    """The global names that a text reads; none if it does not compile on its own."""
    try:
        code = compiled(text)
    except SyntaxError:
        return set()
    return {name for part in _codes(code) for name in _read_outside(part)}


def defines(node: ast.stmt) -> set[str]:
    """The names that a statement defines."""
    if isinstance(node, Definition):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return {n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)}


def outside_names(text: str, known: Iterable[str]) -> list[str]:
    """The names that a text reads but that neither it nor `known` nor Python defines."""
    code = compiled(text)
    used = {name for part in _codes(code) for name in _read_outside(part)}
    stored = {step.argval for step in dis.get_instructions(code) if step.opname in STORES}
    return sorted(used - stored - set(known) - set(vars(builtins)) - OF_A_MODULE)


def _read_outside(code: CodeType) -> Iterator[str]:
    """The global names that code reads, without those that it sets itself."""
    steps = list(dis.get_instructions(code))
    own = {step.argval for step in steps if step.opname in STORES}
    for step in steps:
        if step.opname == "LOAD_GLOBAL" or (step.opname == "LOAD_NAME" and step.argval not in own):
            yield step.argval


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def is_unwritten(candidate: Any, reference: Any) -> bool:
    """True if the answer has no value, or a body that is `...` or still has `x = ...`.

    A class is unwritten if that is so for one of the methods that the reference has, too.
    """
    if candidate is None or candidate is ...:
        return True
    if isinstance(candidate, FunctionType):
        return _empty(candidate)
    if isinstance(candidate, type) and isinstance(reference, type):
        methods = [(n, f) for n, f in vars(candidate).items() if isinstance(f, FunctionType)]
        wanted = {n for n, f in vars(reference).items() if isinstance(f, FunctionType)}
        return any(name in wanted and _empty(method) for name, method in methods)
    return False


def _empty(function: FunctionType) -> bool:
    node = node_of(function, cell_of(function))
    if not isinstance(node, Definition):
        return _returns_nothing(_code(function))
    if all(map(_does_nothing, node.body)):
        return True
    gaps = (ast.Assign, ast.AnnAssign, ast.Return)
    return any(
        isinstance(part, gaps) and isinstance(part.value, ast.Constant) and part.value.value is ...
        for part in ast.walk(node)
    )


def _does_nothing(node: ast.stmt) -> bool:
    """True for a docstring, `...`, `pass`, `return`, or a branch that is never taken."""
    if isinstance(node, ast.If):
        return isinstance(node.test, ast.Constant) and not node.test.value
    if isinstance(node, ast.Return):
        return node.value is None or (
            isinstance(node.value, ast.Constant) and node.value.value is None
        )
    return isinstance(node, ast.Pass) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    )


def _returns_nothing(code: CodeType) -> bool:
    """True if code, whose source is not known, only returns None or `...`."""
    empty = {"RESUME", "NOP", "COPY_FREE_VARS", "MAKE_CELL"}
    steps = [step for step in dis.get_instructions(code) if step.opname not in empty]
    returning = {"LOAD_CONST", "RETURN_VALUE", "RETURN_CONST"}
    return all(step.opname in returning and step.argval in (None, ...) for step in steps)


def statements(function: FunctionType) -> list[str]:
    """The statements of a function without docstring and comments; [] if it has no source."""
    node = node_of(function, cell_of(function))
    if not isinstance(node, ast.FunctionDef):
        return []
    body = node.body[ast.get_docstring(node) is not None :]
    return [ast.unparse(statement) for statement in body]
