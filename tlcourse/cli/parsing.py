"""Words of a command line: what is wrong with them in one line, and help with its defaults."""

import argparse
import shlex
from collections.abc import Sequence
from itertools import takewhile
from typing import Any, NoReturn

from tlcourse import ranges
from tlcourse.wording import nearest


class UsageError(ValueError):
    """A wrong word on the command line; the message, one line, says the right ones."""


class Number(ranges.Number):
    """A type of option: an `int` or a `float` in a range, which `--help` shows."""

    def __call__(self, text: str) -> float:
        """The number that is spelled out; an error that names the range for any other."""
        try:
            value = self.kind(text)
        except ValueError:
            such = "" if self.kind is int else ", such as 0.5 or 25e6"
            raise argparse.ArgumentTypeError(f"expected {self.words}{such}, got {text!r}") from None
        if not self.holds(value):
            raise argparse.ArgumentTypeError(f"expected {self.words}, got {text}")
        return value


class Formatter(argparse.HelpFormatter):
    """Adds the default and the range of each option to what its help says."""

    def _get_help_string(self, action: argparse.Action) -> str:
        text, more = action.help or "", []
        has_one = action.default is not None and action.default is not False
        if action.option_strings and has_one and action.default != argparse.SUPPRESS:
            more.append(f"default: {_shown(action.default)}".replace("%", "%%"))
        if isinstance(action.type, Number) and str(action.type):
            more.append(str(action.type))
        if not more:
            return text
        if "(default: " in text and text.endswith(")"):  # one that is no value, said in words
            return f"{text[:-1]}; {'; '.join(more)})"
        return f"{text} ({'; '.join(more)})"


def _shown(default: Any) -> str:
    """A default as it would be typed."""
    if isinstance(default, list):
        return " ".join(map(str, default))
    return f"{default:g}".replace("e+0", "e") if isinstance(default, float) else str(default)


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, and which option was meant.

    `behind` are the words that begin with a minus and belong after `--`, such as "a text"; "" if
    there are none.
    """

    behind = ""

    def __init__(self, **more: Any):
        super().__init__(formatter_class=Formatter, **more)

    def error(self, message: str) -> None:
        many = any(action.nargs == "*" for action in self._get_positional_actions())
        if many and message.startswith("unrecognized arguments: "):
            message += "; words without an option go before the options"
        raise UsageError(message)

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """Ends after --help or --version; before, a closed pipe is an error that `main` knows."""
        print(end="", flush=True)
        super().exit(status, message)

    def parse_args(  # type: ignore[override]
        self, args: Sequence[str], namespace: argparse.Namespace | None = None
    ) -> argparse.Namespace:
        """As argparse; an unknown option is told first, not the one that is missing for it."""
        for place, word in enumerate(takewhile(lambda word: word != "--", args)):
            option = word.partition("=")[0]
            if self._like_an_option(word) and not self._knows(option):
                shown = [
                    name
                    for name, action in self._option_string_actions.items()
                    if action.help != argparse.SUPPRESS
                ]
                near = nearest(option, shown) or self._behind(args[place:])
                raise UsageError(f"unrecognized option {option}{near}")
        return super().parse_args(args, namespace)

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        """As argparse; an empty word, such as an unset variable in quotes, names nothing."""
        if not arg_string and action.nargs != "*":
            raise argparse.ArgumentError(action, "expected a value, got an empty one; give one")
        return super()._get_value(action, arg_string)

    def _like_an_option(self, word: str) -> bool:
        """Whether argparse takes a word for an option; one with a single minus where it matters."""
        number = self._negative_number_matcher.match(word)
        return word.startswith("-" if self.behind else "--") and " " not in word and not number

    def _behind(self, words: Sequence[str]) -> str:
        """What is to be done with the first of the words, which is like no option."""
        if not self.behind:
            return f"; `{self.prog} --help` lists those there are"
        more = takewhile(lambda word: not word.startswith("-"), words[1:])
        return f"; {self.behind} goes after --, at the end: -- {shlex.join([words[0], *more])}"

    def _knows(self, option: str) -> bool:
        """Whether an option is one, or the beginning of one, which argparse takes, too."""
        return any(name.startswith(option) for name in self._option_string_actions)


def words_of(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> list[str]:
    """The options that give `arguments`, spelled as today and without those at their defaults."""
    words: list[str] = []
    for action in parser._actions:
        hidden = argparse.SUPPRESS in (action.help, action.default)
        if not action.option_strings or hidden:
            continue
        value = getattr(arguments, action.dest)
        if value == action.default:
            continue
        words.append(action.option_strings[-1])
        if value is not True:
            words += map(_spelled, value if isinstance(value, list) else [value])
    return words


def _spelled(value: Any) -> str:
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value) if whole else value)
