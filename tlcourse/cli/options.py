"""Options, arguments and commands of click, extended for the course.

- An option of several values takes all words up to the next option: `--corpus a.txt b.txt`.
- The beginning of an option is enough, and a word with a space in it is never one.
- Help shows ranges and defaults, which come from the fields of a dataclass (`options_of`).
- What is wrong with the words is one line, which names the option that was meant.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from itertools import takewhile
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import click

from tlcourse import ranges
from tlcourse.cli.console import console
from tlcourse.wording import nearest

NEGATIVE = re.compile(r"-\d+|-\d*\.\d+")


class Number(click.ParamType):
    """A type of option: an `int` or a `float` in a range."""

    name = "number"

    def __init__(self, allowed: ranges.Number):
        self.allowed = allowed

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        """Returns the number that is spelled out; any other is an error that names the range."""
        if not isinstance(value, str):
            return value
        kind, words = self.allowed.kind, self.allowed.words
        try:
            number = kind(value)
        except ValueError:
            such = "" if kind is int else ", such as 0.5 or 25e6"
            self.fail(f"expected {words}{such}, got {value!r}", param, ctx)
        if not self.allowed.holds(number):
            self.fail(f"expected {words}, got {value}", param, ctx)
        return number


class OneOf(click.ParamType):
    """A type of option: one of a few words."""

    name = "word"

    def __init__(self, words: Sequence[str]):
        self.words = words

    def convert(self, value: str, param: Any, ctx: Any) -> str:
        """Returns the word; any other is an error that lists the words there are."""
        if value not in self.words:
            near = nearest(value, self.words)
            self.fail(f"expected one of {', '.join(self.words)}, got {value!r}{near}", param, ctx)
        return value


def click_type(kind: Any) -> Any:
    """Returns click's type for a range of numbers, a tuple of words, Path, or what click knows."""
    if isinstance(kind, ranges.Number):
        return Number(kind)
    if isinstance(kind, tuple):
        return OneOf(kind)
    return click.Path(path_type=Path) if kind is Path else kind


class Option(click.Option):
    """An option; `kind` see `click_type`, bool for a flag. `shown` is its default in words."""

    def __init__(
        self,
        name: str,
        help: str,
        kind: Any = str,
        default: Any = None,
        shown: str = "",
        **more: Any,
    ):
        self.does, self.usual, self.shown = help, False if kind is bool else default, shown
        if kind is bool:
            more["is_flag"] = True
        else:
            more["type"] = click_type(kind)
        if isinstance(kind, tuple):
            more["metavar"] = "|".join(kind)
        names = filter(None, [name, more.pop("dest", None)])
        super().__init__([*names], help=help, default=self.usual, **more)

    def make_metavar(self, *context: Any) -> str:
        """Returns what stands for the value in the help, such as N for a number."""
        usual = "N" if isinstance(self.type, Number) else self.name.upper()
        return (self.metavar or usual) + " ..." * self.multiple

    def row(self) -> tuple[str, str]:
        """Returns the option and what it does, with its default and its range."""
        none = self.usual is None or self.usual is False
        usual = self.shown or ("" if none else spelled(self.usual))
        kind = self.type
        notes = [f"default: {usual}"] * bool(usual)
        notes += filter(None, [str(kind.allowed) if isinstance(kind, Number) else ""])
        names = self.opts[0] if self.is_flag else f"{self.opts[0]} {self.make_metavar()}"
        return names, self.does + (f" ({'; '.join(notes)})" if notes else "")


class Argument(click.Argument):
    """A word without an option; `nargs=-1` for any number of them."""

    def __init__(self, name: str, help: str, kind: Any = str, **more: Any):
        super().__init__([name], type=click_type(kind), **more)
        self.does = help

    def make_metavar(self, *context: Any) -> str:
        """Returns what stands for the word in the help."""
        name = self.metavar or self.name
        return f"[{name}]" if not self.required else name

    def row(self) -> tuple[str, str]:
        """Returns the name and what it is."""
        return self.metavar or self.name, self.does


HELP = Option("--help", "show this and end", bool)


def options_of(settings: type, names: Sequence[str] = (), **changes: Any) -> list[Option]:
    """Returns an option for each field of a dataclass that is a `ranges.setting`, or for `names`.

    Range, default and help are the field's, so none is typed twice. `changes`: arguments of an
    Option in their place, by the name of a field.
    """
    options = []
    for field in fields(settings):
        if field.metadata and (field.name in names or not names):
            facts = {"kind": field.metadata["allowed"], "help": field.metadata["help"]}
            given = facts | {"default": field.default} | changes.get(field.name, {})
            options.append(Option(f"--{field.name.replace('_', '-')}", **given))
    return options


class Command(click.Command):
    """A command made of its module: OPTIONS and `run(arguments)`, which returns the exit code.

    A module that changes anything also has `left(arguments)`, which says what is there when it is
    stopped. BEHIND names the words that begin with a minus and belong after `--`, if any do.
    """

    def __init__(self, name: str, does: str, module: ModuleType):
        self.declared: list[Option | Argument] = module.OPTIONS
        super().__init__(name, params=[*self.declared], help=does)
        self.module, self.does, self.behind = module, does, getattr(module, "BEHIND", "")

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parses words as click does, after `_in_order`, and puts their values into `ctx.obj`."""
        words, rest, given = self._in_order(args)
        try:
            super().parse_args(ctx, [*words, "--", *rest])
        except click.MissingParameter:
            given |= {param.name for param, _ in zip(self._arguments, rest, strict=False)}
            missing = [p for p in self.declared if p.required and p.name not in given]
            names = ", ".join(param.row()[0].split()[0] for param in missing)
            raise click.UsageError(f"the following arguments are required: {names}") from None
        values = {k: list(v) if isinstance(v, tuple) else v for k, v in ctx.params.items()}
        ctx.obj = SimpleNamespace(**values)
        return []

    @property
    def _options(self) -> list[Option]:
        return [param for param in self.declared if isinstance(param, Option)]

    @property
    def _arguments(self) -> list[Argument]:
        return [param for param in self.declared if isinstance(param, Argument)]

    def parsed(self, words: Sequence[str]) -> SimpleNamespace:
        """Returns the values that words give."""
        return self.make_context(f"tlcourse {self.name}", list(words)).obj

    def invoke(self, ctx: click.Context) -> int:
        """Runs the command; returns the exit code."""
        ctx.meta["command"] = ctx
        return self.module.run(ctx.obj)

    def left(self, arguments: SimpleNamespace) -> str:
        """Returns what there is when it was stopped."""
        say = getattr(self.module, "left", None)
        return say(arguments) if say else "nothing was changed"

    def get_help(self, ctx: click.Context) -> str:
        """Returns what `--help` shows."""
        options = [*self._options, HELP]
        needed = [option.row()[0] for option in options if option.required]
        words = [*(argument.make_metavar() for argument in self._arguments), *needed, "[OPTIONS]"]
        sections = {
            "Arguments": [argument.row() for argument in self._arguments],
            "Options": [option.row() for option in options],
        }
        return page_of_help([ctx.command_path, *words], self.does, sections)

    def words_of(self, arguments: SimpleNamespace) -> list[str]:
        """Returns the options that give `arguments`, without those at their defaults."""
        words: list[str] = []
        for option in self._options:
            value = getattr(arguments, option.name)
            if value in (option.usual, None, []):
                continue
            words.append(option.opts[0])
            if value is not True:
                words += map(spelled, value if isinstance(value, list) else [value])
        return words

    def _in_order(self, args: Sequence[str]) -> tuple[list[str], list[str], set[str]]:
        """Returns options spelled out, one value each; the other words; which options there are.

        Raises UsageError for an unknown option, a value that is missing or empty, and words too
        many.
        """
        options = {option.opts[0]: option for option in (*self._options, HELP)}
        left, given = list(args), set()
        words: list[str] = []
        rest: list[str] = []
        while left:
            word = left.pop(0)
            if word == "--":
                rest, left = rest + left, []
            elif not self._like_an_option(word):
                rest.append(word)
            else:
                typed, equals, value = word.partition("=")
                name = option_meant(typed, options, self._otherwise([word, *left]))
                option = options[name]
                given.add(option.name)
                if option.is_flag:
                    words.append(name + equals + value)
                    continue
                values = [value] if equals else [*takewhile(self._like_a_value, left)]
                values = values if option.multiple else values[:1]
                left = left if equals else left[len(values) :]
                if not values:
                    raise _no_value(name, "none")
                for value in values:
                    words += [name, _not_empty(name, value)]
        if len(rest) > len(self._arguments) and all(a.nargs == 1 for a in self._arguments):
            more = shlex.join(rest[len(self._arguments) :])
            raise click.UsageError(f"unrecognized arguments: {more}")
        for argument, word in zip(self._arguments, rest, strict=False):
            if argument.nargs == 1:
                _not_empty(argument.row()[0], word)
        return words, rest, given

    def _like_an_option(self, word: str) -> bool:
        """True if a word is an option; with a single minus only for a command with BEHIND."""
        start = "-" if self.behind else "--"
        return word.startswith(start) and " " not in word and not NEGATIVE.fullmatch(word)

    def _like_a_value(self, word: str) -> bool:
        return word != "--" and not self._like_an_option(word)

    def _otherwise(self, words: Sequence[str]) -> str:
        """Returns what to do with the first of the words, which resembles no option."""
        if not self.behind:
            return f"; `tlcourse {self.name} --help` lists those there are"
        more = takewhile(lambda word: not word.startswith("-"), words[1:])
        return f"; {self.behind} goes after --, at the end: -- {shlex.join([words[0], *more])}"


def _not_empty(name: str, value: str) -> str:
    """Returns a value; raises UsageError for an empty one, such as an unset variable in quotes."""
    if not value:
        raise _no_value(name, "an empty one")
    return value


def _no_value(name: str, got: str) -> click.UsageError:
    return click.UsageError(f"argument {name}: expected a value, got {got}; give one")


def option_meant(typed: str, options: Iterable[str], otherwise: str) -> str:
    """Returns the option that is typed, or the only one that begins so.

    Raises UsageError for others, with the nearest option; where none is near, with `otherwise`.
    """
    alike = [typed] if typed in options else [name for name in options if name.startswith(typed)]
    if len(alike) == 1:
        return alike[0]
    if alike:
        raise click.UsageError(f"option {typed} could be {' or '.join(alike)}; type more of it")
    raise click.UsageError(f"unrecognized option {typed}{nearest(typed, options) or otherwise}")


def page_of_help(
    usage: Sequence[str], does: str, sections: Mapping[str, Sequence[tuple[str, str]]]
) -> str:
    """Returns a page of help, with colour where the terminal has it; click strips it elsewhere."""
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    terminal = console(sys.stdout)
    terminal.soft_wrap = False
    with terminal.capture() as captured:
        terminal.print(Text.assemble(("Usage: ", "bold"), " ".join(usage)))
        terminal.print(f"\n{does}")
        for title, rows in sections.items():
            if not rows:
                continue
            table = Table.grid(padding=(0, 2), pad_edge=False)
            table.add_column(min_width=12, max_width=32, overflow="fold")
            table.add_column(ratio=1)
            for name, text in rows:
                table.add_row(Text(name, style="cyan"), Text(text))
            terminal.print(Text(f"\n{title}:", style="bold"))
            terminal.print(Padding(table, (0, 0, 0, 2)))
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def spelled(value: Any) -> str:
    """Returns a value as it would be typed, such as 180 for 180.0."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return " ".join(map(spelled, value))
    if isinstance(value, float) and value.is_integer() and value < 1e15:
        return str(int(value))
    return str(value)
