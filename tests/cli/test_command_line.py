"""The command line as a person meets it: lists, help, wrong words; nothing slow for them."""

import argparse
import io
import json
import math
import os
import re
import shlex
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from tlcourse import __version__, environment
from tlcourse.cli import command_line, main
from tlcourse.cli.parsing import Number, Parser, UsageError, words_of
from tlcourse.cli.saying import painted

COMMANDS = command_line.COMMANDS


def tlcourse(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs `python -m tlcourse` with `arguments`."""
    return subprocess.run(
        [sys.executable, "-m", "tlcourse", *arguments],
        env=os.environ | variables,
        capture_output=True,
        encoding="utf-8",
    )


@pytest.mark.parametrize(
    ("arguments", "listed"),
    [
        (["sing"], "out of check, lab, run"),
        (["run", "99"], "expected a lesson out of"),
        (["run", "no_such_lesson"], "expected a lesson out of"),
        (["sing"], "check"),
        (["data", "no-such-data"], "wikitext-2"),
        (["chek"], "did you mean check?"),
        (["--versoin"], "did you mean --version?"),
        (["--sing"], "`tlcourse --help` lists"),
        (["adapt", "--trian", "my.csv", "--out", "x"], "--trian; did you mean --train?"),
        (["predict", "x", "--cvs=x.csv"], "--cvs; did you mean --csv?"),
        (["pretrain", "--out", "x", "--wdith", "1"], "--wdith; did you mean --width?"),
        (["check", "--harder"], "`tlcourse check --help` lists"),
        (["check", "twice"], "unrecognized arguments: twice"),
        (["adapt", "--out"], "argument --out: expected one argument"),
        (["run"], "lesson"),
        (["data", "trek"], "got 'trek'; did you mean trec?"),
        (["answers"], "required: export|import, FILE.zip"),
        (["predict"], "required: folder\n"),
        (["lab", "--port", "9999"], "JupyterLab goes after --, at the end: -- --port 9999\n"),
        (["lab", "--port=9", "--prepare-only"], "at the end: -- --port=9\n"),
        (["lab", "-p", "9"], "unrecognized option -p; an option of JupyterLab goes after --"),
        (["lab", "--foldr", "x"], "--foldr; did you mean --folder?"),
        (["predict", "x", "-cold"], "begins with a minus goes after --, at the end: -- -cold\n"),
        (["predict", "x", "good", "--cold"], "at the end: -- --cold\n"),
        (["predict", "x", "caf\udce9"], "expected words in UTF-8, got b'caf\\xe9'; type it in"),
        (["adapt", "--train", "\udcff.csv", "--out", "x"], "in UTF-8, got b'\\xff.csv'"),
        (["caf\udce9"], "in UTF-8, got b'caf\\xe9'"),
        (["predict", "x", "--out", "y", "a text"], "a text; words without an option go before"),
        (["adapt", "--epochs", "1.5"], "--epochs: expected a whole number at least 1, got '1.5'"),
        (["pretrain", "--tokens", "25m"], "a number above 0, such as 0.5 or 25e6, got '25m'"),
    ],
)
def test_a_wrong_word_is_one_line_that_lists_the_right_ones(arguments, listed, capsys) -> None:
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    assert listed in err


def test_the_exit_code_of_a_wrong_word_reaches_the_shell() -> None:
    result = tlcourse("sing")
    assert result.returncode == 2
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("words", [["data", "trec"], ["progress"], ["--help"], ["adapt", "--help"]])
def test_a_pipe_that_nobody_reads_is_no_error(words, monkeypatch, capfd) -> None:
    read, write = os.pipe()
    os.close(read)
    with open(write, "w", encoding="utf-8") as closed:
        monkeypatch.setattr(sys, "stdout", closed)
        assert main(words) == 141
        print("what comes later goes nowhere, as when Python ends")
    assert capfd.readouterr().err == ""


def test_options_that_are_not_shown_are_not_proposed(capsys) -> None:
    assert main(["pretrain", "--out", "x", "--mask-rat3", "1"]) == 2
    assert "did you mean --mask-probability?" in capsys.readouterr().err


def test_a_text_that_begins_like_an_option_is_a_text() -> None:
    options = command_line.parser("predict")
    assert options.parse_args(["mine", "--what is this"]).texts == ["--what is this"]
    assert options.parse_args(["mine", "--", "--what"]).texts == ["--what"]


def test_the_beginning_of_an_option_is_understood() -> None:
    assert command_line.parser("run").parse_args(["01", "--commit"]).commit_outputs


def test_alone_it_lists_the_commands_as_git_does(capsys) -> None:
    assert main([]) == 1
    alone = capsys.readouterr()
    assert alone.err == ""
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0 and capsys.readouterr().out == alone.out
    flat = " ".join(alone.out.split())
    assert "command" in flat and all(f" {name} {does}" in flat for name, does in COMMANDS.items())


def test_the_version(capsys) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"tlcourse {__version__}\n"


def test_the_list_says_what_the_modules_say_and_none_is_missing() -> None:
    for name, does in COMMANDS.items():
        assert import_module(f"tlcourse.cli.{name}").__doc__.splitlines()[0] == does
    folder = command_line.__file__.removesuffix("command_line.py")
    found = {name.removesuffix(".py") for name in os.listdir(folder) if name.endswith(".py")}
    shared = {
        "__init__",
        "beside",
        "cards",
        "command_line",
        "doubts",
        "finishing",
        "limits",
        "parsing",
    }
    assert found - shared - {"saying", "stage", "stopping"} == set(COMMANDS)


# Runs one command after the other, and says what was imported that was not there before.
TELL = """
import contextlib, io, json, sys
from tlcourse.cli import main

news = []
for words in json.loads(sys.argv[1]):
    before = set(sys.modules)
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
        main(words)
    news.append(sorted(set(sys.modules) - before))
print(json.dumps(news))
"""
HEAVY = {"torch", "sklearn", "datasets", "transformers", "matplotlib", "nbclient"}


def test_lists_and_help_import_nothing_heavy_and_no_other_command() -> None:
    runs = [[], ["--help"], ["--version"], ["sing"], *([name, "--help"] for name in COMMANDS)]
    runs += [["progress"], ["reset", "no.such"]]
    command = [sys.executable, "-c", TELL, json.dumps(runs)]
    ran = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
    for words, new in zip(runs, json.loads(ran.stdout), strict=True):
        assert not HEAVY & set(new), words
        own = {name for name in new if name.startswith("tlcourse.cli.")}
        assert own == ({f"tlcourse.cli.{words[0]}"} if words[1:] == ["--help"] else set()), words


def options() -> dict[str, argparse.Action]:
    """Every option of every command that is shown, but --help."""
    return {
        f"{name} {action.option_strings[0]}": action
        for name in COMMANDS
        for action in command_line.parser(name)._actions
        if action.option_strings and argparse.SUPPRESS not in (action.help, action.default)
    }


def test_help_shows_every_default_and_range_once(capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    helps = {}
    for name in COMMANDS:
        with pytest.raises(SystemExit):
            main([name, "--help"])
        helps[name] = capsys.readouterr().out
        assert COMMANDS[name] in helps[name]
    for each, action in options().items():
        name, option = each.split()
        lines = [" ".join(entry.split()) for entry in re.split(r"\n  (?=\S)", helps[name])]
        (line,) = [line for line in lines if re.match(rf"{option}\b", line)]
        assert action.help and line.count("default: ") <= 1, each
        if not (action.default is None or action.default is False):
            (told,) = re.findall(r"default: ([^;)]+)", line)
            shown = told.split() if isinstance(action.default, list) else told
            assert (action.type or (lambda text: text))(shown) == action.default, each
        if isinstance(action.type, Number):
            assert re.search(r"(at least|above) \d", line), each
    assert "(default: 0.15; above 0, at most 1)" in helps["pretrain"]
    assert "(default: 1e6; above 0)" in helps["pretrain"]
    assert "(default: the scheme's, more for few rows; at least 1)" in helps["adapt"]


def test_every_number_outside_its_range_is_refused_with_option_range_and_value(capsys) -> None:
    needed = {"pretrain": ["--out", "x"], "adapt": ["--train", "x", "--out", "y"]}
    tried = 0
    for each, action in options().items():
        name, option = each.split()
        if isinstance(action.type, Number):
            for value in ("-1", "nan", "inf", "-inf", "0", "1e99", "7" * 30):
                arguments = [*needed[name], f"{option}={value}"]
                try:
                    found = getattr(command_line.parser(name).parse_args(arguments), action.dest)
                except UsageError as error:
                    told = f"argument {option}: expected a "
                    assert str(error).startswith(told) and value in str(error), each
                    assert str(action.type) in str(error), each
                    tried += 1
                else:
                    assert -math.inf < found < math.inf and found >= 0, each
                    assert action.type.most is None or found <= action.type.most, each
                    assert found > 0 or action.type.least == 0, each
    assert tried > 50


def test_words_give_the_options_again() -> None:
    parser = command_line.parser("pretrain")
    typed = [
        "--out",
        "my run",
        "--corpus",
        "a b.txt",
        "wikitext-2",
        "--batch",
        "3",
        "--tensorboard",
    ]
    typed += ["--minutes", "0.5", "--rate", "1e-05", "--seed", "7", "--prepared", "it's"]
    asked = parser.parse_args(typed)
    words = words_of(parser, asked)
    assert parser.parse_args(words) == asked and "--batch-size" in words
    assert parser.parse_args(shlex.split(shlex.join(words))) == asked
    assert words_of(parser, parser.parse_args(["--out", "x", "--tokens", "1e6"])) == ["--out", "x"]
    large = parser.parse_args(["--out", "x", "--tokens", "123456789"])
    assert words_of(parser, large) == ["--tokens", "123456789", "--out", "x"]


def test_percent_signs_of_defaults_are_shown(capsys) -> None:
    parser = Parser(prog="x")
    parser.add_argument("--mark", default="100%", help="it")
    parser.print_help()
    assert "it (default: 100%)" in capsys.readouterr().out
    with pytest.raises(UsageError):
        parser.parse_args(["--mark"])


class Terminal(io.StringIO):
    """A stream of somebody who sits before it."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_colour_unless_it_declines(monkeypatch) -> None:
    for name, value in (("TERM", "xterm"), ("NO_COLOR", "")):
        monkeypatch.setenv(name, value)
    assert painted("x", "red", Terminal()) == "\x1b[31mx\x1b[0m"
    assert painted("x", "red", io.StringIO()) == "x"
    monkeypatch.setenv("TERM", "dumb")
    assert painted("x", "red", Terminal()) == "x"
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    assert painted("x", "red", Terminal()) == "x"


def test_colours_leave_the_words(monkeypatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("TLCOURSE_DEVICE", "abacus")
    monkeypatch.delenv("NO_COLOR", raising=False)
    said = {}
    for kind in (io.StringIO, Terminal):
        out, err = kind(), kind()
        monkeypatch.setattr(sys, "stdout", out)
        monkeypatch.setattr(sys, "stderr", err)
        assert main(["sing"]) == 2 and main(["check"]) == 1
        said[kind] = out.getvalue() + err.getvalue()
    coloured = said[Terminal]
    for part in ("\x1b[31mtlcourse:\x1b[0m ", "\x1b[32m[OK]\x1b[0m   ", "\x1b[31m[FAIL]\x1b[0m "):
        assert part in coloured
    assert re.sub(r"\x1b\[\d+m", "", coloured) == said[io.StringIO]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
@pytest.mark.parametrize("variables", [{}, {"PYTHONUNBUFFERED": "1"}])
def test_what_cannot_be_said_for_want_of_room_is_one_line(variables):
    with open("/dev/full", "w", encoding="utf-8") as full:
        told = subprocess.run(
            [sys.executable, "-m", "tlcourse", "progress"],
            env=os.environ | variables, stdout=full, stderr=subprocess.PIPE, encoding="utf-8",
        )  # fmt: skip
    assert (told.returncode, told.stderr) == (
        2,
        "tlcourse: [Errno 28] No space left on device; free some space and run the same command "
        "again\n",
    )


def test_where_libraries_are_missing_every_command_is_one_line(monkeypatch, capsys) -> None:
    def without(name: str) -> None:
        raise ModuleNotFoundError(f"No module named '{name}'", name=name)

    monkeypatch.setattr(command_line, "module", without)
    with pytest.raises(ModuleNotFoundError):  # an error of ours stays one
        main(["check"])
    monkeypatch.setattr(environment, "missing", lambda: ["torch>=2.9", "regex"])
    assert main(["check"]) == 2
    assert capsys.readouterr().err == (
        "tlcourse: expected the libraries that the course imports, but this Python lacks torch, "
        'regex; run (it may download 2 GB): python -m pip install "torch>=2.9" "regex"\n'
    )
