"""The command line as a person meets it: lists, help, wrong words; nothing slow for them."""

import io
import json
import os
import re
import shlex
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import click
import pytest

from tlcourse import __version__, environment
from tlcourse.cli import command_line, main
from tlcourse.cli.command_line import COMMANDS
from tlcourse.cli.console import complain
from tlcourse.cli.options import Command, Number, Option
from tlcourse.transformer import Config


def command(name: str) -> Command:
    return command_line.overview.get_command(None, name)


@pytest.mark.parametrize(
    ("arguments", "listed"),
    [
        (["sing"], "out of check, lab, run"),
        (["run", "99"], "expected a lesson out of"),
        (["data", "no-such-data"], "wikitext-2"),
        (["chek"], "did you mean check?"),
        (["--versoin"], "did you mean --version?"),
        (["--sing"], "`tlcourse --help` lists"),
        (["adapt", "--trian", "my.csv", "--out", "x"], "--trian; did you mean --train?"),
        (["predict", "x", "--cvs=x.csv"], "--cvs; did you mean --csv?"),
        (["pretrain", "--out", "x", "--wdith", "1"], "--wdith; did you mean --width?"),
        (["check", "--harder"], "`tlcourse check --help` lists"),
        (["check", "twice"], "unrecognized arguments: twice"),
        (["adapt", "--out"], "argument --out: expected a value, got none; give one"),
        (["data", "trek"], "got 'trek'; did you mean trec?"),
        (["answers"], "required: export|import, FILE.zip"),
        (["predict"], "required: folder\n"),
        (["lab", "--port", "9999"], "JupyterLab goes after --, at the end: -- --port 9999\n"),
        (["lab", "-p", "9"], "unrecognized option -p; an option of JupyterLab goes after --"),
        (["lab", "--foldr", "x"], "--foldr; did you mean --folder?"),
        (["predict", "x", "-cold"], "begins with a minus goes after --, at the end: -- -cold\n"),
        (["predict", "x", "caf\udce9"], "expected words in UTF-8, got b'caf\\xe9'; type it in"),
        (["adapt", "--train", "\udcff.csv", "--out", "x"], "in UTF-8, got b'\\xff.csv'"),
        (["caf\udce9"], "in UTF-8, got b'caf\\xe9'"),
        (["predict", "x", "--out", "y", "a text"], "expected --csv with --out"),
        (["pretrain", "--he", "--out", "x"], "--he could be --heads or --help; type more of it"),
        (["pretrain", "--out", "x", "--objective", "maskd"], "got 'maskd'; did you mean masked?"),
        (["evaluate", "x", "--on", "blimp", "pronoun"], "got 'pronoun'; did you mean pronouns?"),
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


@pytest.mark.parametrize("words", [["data", "trec"], ["progress"], ["--help"], ["adapt", "--help"]])
def test_a_pipe_that_nobody_reads_is_no_error(words, monkeypatch, capfd) -> None:
    read, write = os.pipe()
    os.close(read)
    with open(write, "w", encoding="utf-8") as closed:
        monkeypatch.setattr(sys, "stdout", closed)
        assert main(words) == 141
        print("what comes later goes nowhere, as when Python ends")
    assert capfd.readouterr().err == ""


def test_a_text_that_begins_like_an_option_is_a_text() -> None:
    predict = command("predict")
    assert predict.parsed(["mine", "--what is this", "-5"]).texts == ["--what is this", "-5"]
    assert predict.parsed(["mine", "--", "--what"]).texts == ["--what"]


def test_the_beginning_of_an_option_is_understood_and_several_values_are_one_option() -> None:
    assert command("run").parsed(["01", "--commit"]).commit_outputs
    pages = ["--out", "x", "--model", "a", "b", "--model=c"]
    assert command("page").parsed(pages).model == ["a", "b", "c"]
    assert command("page").parsed(["--out", "x"]).model == []


def test_alone_it_lists_the_commands_as_git_does(capsys) -> None:
    assert main([]) == 1
    alone = capsys.readouterr()
    assert alone.err == ""
    assert main(["--help"]) == 0 and capsys.readouterr().out == alone.out
    flat = " ".join(alone.out.split())
    assert "command" in flat and all(f" {name} {does}" in flat for name, does in COMMANDS.items())


def test_the_version(capsys) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"tlcourse {__version__}\n"


def test_the_list_says_what_the_modules_say_and_none_is_missing() -> None:
    for name, does in COMMANDS.items():
        assert import_module(f"tlcourse.cli.{name}").__doc__.splitlines()[0] == does
    folder = command_line.__file__.removesuffix("command_line.py")
    found = {name.removesuffix(".py") for name in os.listdir(folder) if name.endswith(".py")}
    assert found - {"__init__", "command_line", "console", "options"} == set(COMMANDS)


# Runs one command after the other, and says what was imported that was not there before.
TELL = """
import contextlib, io, json, sys
from tlcourse.cli import main

news = []
for words in json.loads(sys.argv[1]):
    before = set(sys.modules)
    with contextlib.redirect_stdout(io.StringIO()):
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


def options() -> dict[str, Option]:
    """Every option of every command, by both names."""
    return {
        f"{name} {param.opts[0]}": param
        for name in COMMANDS
        for param in command(name).params
        if isinstance(param, Option)
    }


def test_help_shows_every_default_and_range_once(capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    helps = {}
    for name in COMMANDS:
        assert main([name, "--help"]) == 0
        helps[name] = capsys.readouterr().out
        assert COMMANDS[name] in helps[name]
    for each, option in options().items():
        name, typed = each.split()
        lines = [" ".join(line.split()) for line in helps[name].splitlines()]
        (line,) = [line for line in lines if re.match(rf"{typed}\b(?!-)", line)]
        assert option.help and line.count("default: ") <= 1, each
        if option.usual is not None and option.usual is not False:
            (told,) = re.findall(r"default: ([^;)]+)", line)
            shown = told.split() if option.multiple else told
            assert option.type_cast_value(None, shown) == tuple(shown) or (
                option.type_cast_value(None, shown) == option.usual
            ), each
        if isinstance(option.type, Number):
            assert re.search(r"(at least|above) \d", line), each
    assert "(default: 0.15; above 0, at most 1)" in helps["pretrain"]
    assert "(default: 1e6; above 0)" in helps["pretrain"]
    assert "(default: the scheme's, more for few rows; at least 1)" in helps["adapt"]
    for option in ("width", "layers", "heads", "vocabulary_size"):
        typed, usual = option.removesuffix("_size"), getattr(Config(), option)
        assert re.search(rf"--{typed} N .*\(default: {usual}[;,] ", helps["pretrain"])


def test_every_number_outside_its_range_is_refused_with_option_range_and_value(capsys) -> None:
    needed = {"pretrain": ["--out", "x"], "adapt": ["--train", "x", "--out", "y"]}
    needed |= {"slides": ["00"]}
    tried = 0
    for each, option in options().items():
        name, typed = each.split()
        if not isinstance(option.type, Number):
            continue
        allowed = option.type.allowed
        for value in ("-1", "nan", "inf", "-inf", "0", "1e99", "7" * 30):
            try:
                found = command(name).parsed([*needed[name], f"{typed}={value}"])
            except click.BadParameter as error:
                told = error.message
                assert told.startswith("expected a ") and value in told and str(allowed) in told
                assert error.param is option, each
                tried += 1
            else:
                assert allowed.holds(getattr(found, option.name)), each
    assert tried > 50


def test_words_give_the_options_again() -> None:
    pretrain = command("pretrain")
    typed = ["--out", "my run", "--corpus", "a b.txt", "wikitext-2", "--batch", "3"]
    typed += ["--tensorboard", "--minutes", "0.5", "--learning-rate", "1e-05", "--seed", "7"]
    typed += ["--prepared", "it's"]
    asked = pretrain.parsed(typed)
    words = pretrain.words_of(asked)
    assert pretrain.parsed(words) == asked and "--batch-size" in words
    assert pretrain.parsed(shlex.split(shlex.join(words))) == asked
    assert pretrain.words_of(pretrain.parsed(["--out", "x", "--seed", "0"])) == ["--out", "x"]
    large = pretrain.parsed(["--out", "x", "--tokens", "123456789"])
    assert pretrain.words_of(large) == ["--tokens", "123456789", "--out", "x"]


class Terminal(io.StringIO):
    """A stream of somebody who sits before it."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("variable", "value", "coloured"),
    [("TERM", "xterm", True), ("TERM", "dumb", False), ("NO_COLOR", "1", False)],
)
def test_a_terminal_gets_colour_unless_it_declines(monkeypatch, variable, value, coloured) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv(variable, value)
    for stream, painted in ((Terminal(), coloured), (io.StringIO(), False)):
        monkeypatch.setattr(sys, "stderr", stream)
        complain("[x] " + 200 * "long ")
        mark = "\x1b[31mtlcourse:\x1b[0m" if painted else "tlcourse:"
        assert stream.getvalue() == f"{mark} [x] {200 * 'long '}\n"


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
            env=os.environ | variables,
            stdout=full,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
    assert (told.returncode, told.stderr) == (
        2,
        "tlcourse: [Errno 28] No space left on device; free some space and run the same command "
        "again\n",
    )


def test_where_libraries_are_missing_every_command_is_one_line(monkeypatch, capsys) -> None:
    def without(name: str) -> None:
        raise ModuleNotFoundError(f"No module named '{name}'", name=name)

    monkeypatch.setattr(command_line, "import_module", without)
    with pytest.raises(ModuleNotFoundError):  # an error of ours stays one
        main(["check"])
    monkeypatch.setattr(environment, "missing", lambda: ["torch>=2.9", "regex"])
    assert main(["check"]) == 2
    assert capsys.readouterr().err == (
        "tlcourse: expected the libraries that the course imports, but this Python lacks torch, "
        'regex; run (it may download 2 GB): python -m pip install "torch>=2.9" "regex"\n'
    )
