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
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType
from typing import Any

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def _code(candidate: Any) -> CodeType | None:
    """The code of a function, or of some method of a class; None where there is none."""
    if isinstance(candidate, type):
        methods = (getattr(each, "__func__", each) for each in vars(candidate).values())
        codes = [each.__code__ for each in methods if isinstance(each, FunctionType)]
        own = [code for code in codes if code.co_qualname.startswith(candidate.__qualname__)]
        return own[0] if own else None
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
        return ast.parse(text).body
    except (SyntaxError, ValueError):
        return []


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
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
        return code.co_name == "<lambda>" and node.lineno == code.co_firstlineno
    named = isinstance(node, Definition) and node.name == code.co_name
    return named and _first_line(node) == code.co_firstlineno


def _first_line(node: ast.AST) -> int:
    """The line on which a definition begins, its decorators included."""
    return min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))])


def cut(candidate: Any) -> tuple[str, str]:
    """The name and the text of a function or class, with what it uses of the same cell.

    Taken along are imports, functions, classes and plain values of the cell that it names. Both are
    "" where the text is not to be found.
    """
    text = cell_of(candidate)
    node = node_of(candidate, text)
    if node is None:
        return "", ""
    name = node.targets[0].id if isinstance(node, ast.Assign) else node.name
    around = [each for each in _parsed(text) if each is not node and _is_plain(each)]
    taken, wanted = [], _names(node)
    while more := [each for each in around if each not in taken and _defines(each) & wanted]:
        taken += more
        wanted |= set().union(*map(_names, more))
    kept = sorted([*taken, node], key=lambda each: each.lineno)
    return name, "\n\n".join(_segment(text, each) for each in kept) + "\n"


def _segment(text: str, node: ast.AST) -> str:
    lines = text.splitlines()[_first_line(node) - 1 : node.end_lineno]
    return textwrap.dedent("\n".join(lines))


def _is_plain(node: ast.stmt) -> bool:
    if isinstance(node, ast.Assign):
        return all(isinstance(each, ast.expr) for each in ast.walk(node.value)) and not any(
            isinstance(each, ast.Call) for each in ast.walk(node.value)
        )
    return isinstance(node, Definition | ast.Import | ast.ImportFrom)


def _names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _defines(node: ast.stmt) -> set[str]:
    if isinstance(node, Definition):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {(each.asname or each.name).split(".")[0] for each in node.names}
    return {target.id for target in node.targets if isinstance(target, ast.Name)}


def outside_names(text: str, known: Iterable[str]) -> list[str]:
    """The names that a text reads, and that neither it nor `known` nor Python itself defines."""
    code = compile(text, "<answer>", "exec")
    used = {name for each in _codes(code) for name in _read_outside(each)}
    stored = {step.argval for step in dis.get_instructions(code) if step.opname == "STORE_NAME"}
    always = {"__name__", "__annotations__"}  # the latter is read by classes with fields
    return sorted(used - stored - always - set(known) - set(vars(builtins)))


def _read_outside(code: CodeType) -> Iterator[str]:
    """The global names that a piece of code reads; in a class body, those it has not set itself."""
    steps = list(dis.get_instructions(code))
    own = {step.argval for step in steps if step.opname == "STORE_NAME"}
    for step in steps:
        if step.opname == "LOAD_GLOBAL" or step.opname == "LOAD_NAME" and step.argval not in own:
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
    if node is None or isinstance(node, ast.Assign):
        return _gives_nothing(function.__code__)
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
        return (
            node.value is None or isinstance(node.value, ast.Constant) and node.value.value is None
        )
    return (
        isinstance(node, ast.Pass)
        or isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
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
