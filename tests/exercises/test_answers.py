"""What passed is kept, and comes back: each rule of it, tried."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import nbformat
import pytest
from IPython.core.interactiveshell import InteractiveShell
from nbclient import NotebookClient
from traitlets.config import Config

from tests.exercises.toys import Counter, double
from tlcourse import environment, files
from tlcourse.exercises import answers, exercise, keeping, progress, running, session, yours
from tlcourse.exercises.answers import Kept
from tlcourse.exercises.task import Unknown, get

pytestmark = pytest.mark.usefixtures("toy", "my")

HEADER = '# tlcourse {"tries": 1, "first": "2026-01-02", "solved": "2026-01-02", "name": "mine"}\n'
DOUBLE = """def mine(values):
    return [value + value for value in values]
"""
UNWRITTEN = """def mine(values):
    ...  # your code here


mine = exercise("toy.double", mine)"""


@pytest.fixture
def my(tmp_path, monkeypatch):
    """The folder of kept answers, empty."""
    monkeypatch.delenv("TLCOURSE_ANSWERS", raising=False)
    monkeypatch.setenv("TLCOURSE_MY", str(tmp_path / "my"))
    return tmp_path / "my" / "answers"


@pytest.fixture
def run(capsys):
    """Runs cells in a notebook's shell of this process; returns what the last one said."""
    shell = InteractiveShell.instance(config=Config(HistoryManager={"hist_file": ":memory:"}))
    capsys.readouterr()

    def cells(*texts):
        for text in texts:
            capsys.readouterr()
            shell.run_cell(text, store_history=True).raise_error()
        return capsys.readouterr().out

    cells.names = shell.user_ns
    cells("from tlcourse.exercises import exercise, yours")
    yield cells
    InteractiveShell.clear_instance()


def restart():
    """Forgets what a new kernel would not know."""
    for each in (session._handed_back, session._hints_shown, session._last, answers._said):
        each.clear()


def keep(id, text, name="mine"):
    """Writes an answer as if it had passed, whatever it is."""
    answers.write(id, Kept(1, "2026-01-02T10:00:00", "2026-01-02T10:00:00", name, text))


def child(folder, code):
    """Runs a file of `code` in a process of its own; returns it."""
    path = folder / f"cell_{len(list(folder.glob('cell_*')))}.py"
    path.write_text(code, encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(files.root())}
    return subprocess.Popen(
        [sys.executable, str(path)], env=environment, stdout=subprocess.PIPE, text=True
    )


def said_by(process):
    said = process.communicate(timeout=120)[0]
    assert process.returncode == 0
    return said


def notebook(*cells):
    """Runs cells in a real kernel; returns what each showed, as text."""
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(each) for each in cells])
    folder = {"metadata": {"path": str(files.root())}}
    NotebookClient(book, kernel_name="python3", resources=folder).execute()
    shown = [
        [each.get("text") or each.data["text/plain"] for each in c.outputs] for c in book.cells
    ]
    return ["\n".join(each) for each in shown], book


# Cells, restarts, Run All


def test_a_restart_gives_the_learners_own(tmp_path):
    solve = """
from collections import Counter
from tlcourse.exercises import exercise

def count_pairs(words):
    "Mine."
    pairs = Counter()
    for word, count in words.items():
        for i in range(len(word) - 1):
            pairs[word[i], word[i + 1]] += count
    return pairs

exercise("bpe.count_pairs", count_pairs)
"""
    use = """
from tlcourse.exercises import yours
print(yours("bpe.count_pairs").__doc__)
yours("bpe.merge_pair")
"""
    assert "Solved: all 3 stages passed" in said_by(child(tmp_path, solve))
    first, second, third = said_by(child(tmp_path, use)).splitlines()
    assert first.startswith("✓ bpe.count_pairs: your own, solved on 20") and second == "Mine."
    assert third == "○ bpe.merge_pair: the reference; not solved yet (lesson 01, exercise 1.2)."


def test_run_all_with_the_cell_solved(run):
    cell = f'{DOUBLE}\nmine = exercise("toy.double", mine)'
    for _ in range(3):
        assert run(cell).startswith("✓ Solved: all 2 stages passed.")
        assert run.names["mine"]([2]) == [4] and run.names["mine"] is not double
        restart()
    assert answers.read("toy.double").text == DOUBLE


def test_run_all_with_the_cell_unsolved_uses_the_kept_answer_that_still_passes(run):
    keep("toy.double", DOUBLE)
    for _ in range(2):
        assert run(UNWRITTEN) == "✓ Solved before: your answer of 2026-01-02 is used.\n"
        assert run.names["mine"] is not double and run.names["mine"]([2]) == [4]


def test_run_all_with_the_cell_unsolved_uses_the_reference_otherwise(run):
    said = run(UNWRITTEN)
    assert "Not solved yet, and that is fine" in said and "kept" not in said
    assert run.names["mine"] is double
    keep("toy.double", "def mine(values):\n    return values\n")
    first, why, *_ = run(UNWRITTEN).splitlines()
    assert first.startswith("○ Not solved yet, and that is fine")
    assert why.startswith("Your kept answer is not used: alone it does not pass any more (Stage 1")
    assert run.names["mine"] is double


def test_a_wrong_cell_is_told_so_and_the_kept_answer_stays(run, my):
    keep("toy.double", DOUBLE)
    before = (my / "toy.double.py").read_bytes()
    assert "✗ Stage 1" in run('mine = exercise("toy.double", lambda values: values)')
    assert run.names["mine"] is double
    assert (my / "toy.double.py").read_bytes() == before and len(list(my.iterdir())) == 1


def test_definition_and_hand_in_in_two_cells(run):
    hand_in = 'mine = exercise("toy.double", mine)'
    assert "Solved" in run(DOUBLE, hand_in)
    own = run.names["mine"]
    assert "Solved" in run(hand_in) and run.names["mine"] is own
    assert answers.read("toy.double").text == DOUBLE and answers.read("toy.double").tries == 1
    restart()
    unwritten = UNWRITTEN.split("\n\n")[0]
    assert "Solved before: your answer of" in run(unwritten, hand_in)
    kept = run.names["mine"]
    said = run(hand_in)
    assert said == "✓ Solved before: your kept answer of toy.double is used.\n"
    assert run.names["mine"] is kept
    answers.forget("toy.double")
    assert "Not solved yet, and that is fine" in run(unwritten, hand_in)
    for _ in range(2):
        assert "this is the reference that came back before" in run(hand_in)
    assert answers.read("toy.double") == Kept()


def test_what_yours_gave_is_no_answer_when_it_is_handed_in(run):
    hand_in = 'mine = exercise("toy.double", yours("toy.double"))'
    assert "Not solved yet, this is the reference that came back before" in run(hand_in)
    keep("toy.double", DOUBLE)
    assert "Solved before: your kept answer of toy.double" in run(hand_in)
    assert answers.read("toy.double").solved == "2026-01-02T10:00:00"


# What is cut from a cell

COUNTER = """class Mine:
    def __init__(self):
        self.count = 0

    def step(self):
        self.count += 1
        return self.count
"""
CUT = {
    "a function": ("toy.double", DOUBLE, 'mine = exercise("toy.double", mine)', DOUBLE),
    "a class": ("toy.counter", COUNTER, 'Mine = exercise("toy.counter", Mine)', COUNTER),
    "a lambda": (
        "toy.double",
        "mine = lambda values: [2 * value for value in values]\n",
        'mine = exercise("toy.double", mine)',
        "mine = lambda values: [2 * value for value in values]\n",
    ),
    "a lambda on one line with its hand-in": (
        "toy.double",
        "",
        'mine = lambda values: [2 * v for v in values]; mine = exercise("toy.double", mine)',
        "mine = lambda values: [2 * v for v in values]\n",
    ),
    "a lambda without a name": (
        "toy.double",
        "",
        'mine = exercise("toy.double", lambda values: [\n    2 * v for v in values])',
        "answer = (lambda values: [\n    2 * v for v in values])\n",
    ),
    "imports, helpers and values of the cell": (
        "toy.double",
        "import math, random\nfrom operator import mul as times\n\nWIDTH, DEPTH = 2, 3\n"
        "TABLE: dict = {}\nTABLE['two'] = WIDTH\nlosses = random.random()\nROOT = math.sqrt(4)\n\n"
        "def twice(value):\n    return times(value, TABLE['two'])\n\n"
        "def never(value):\n    return elsewhere\n\n\n"
        "def mine(values):  # in a loop\n    losses = []\n    for value in values:\n"
        "        losses.append(int(twice(value) * ROOT / 2))\n\n    return losses\n",
        'mine = exercise("toy.double", mine)',
        "import math, random\n\nfrom operator import mul as times\n\nWIDTH, DEPTH = 2, 3\n\n"
        "TABLE: dict = {}\n\nTABLE['two'] = WIDTH\n\nROOT = math.sqrt(4)\n\n"
        "def twice(value):\n    return times(value, TABLE['two'])\n\n"
        "def mine(values):  # in a loop\n    losses = []\n    for value in values:\n"
        "        losses.append(int(twice(value) * ROOT / 2))\n\n    return losses\n",
    ),
    "a function that calls itself": (
        "toy.double",
        "def mine(values):\n    return [2 * values[0], *mine(values[1:])] if values else []\n",
        'mine = exercise("toy.double", mine)',
        "def mine(values):\n    return [2 * values[0], *mine(values[1:])] if values else []\n",
    ),
    "a decorated function": (
        "toy.double",
        "import torch\n\n@torch.no_grad()\ndef mine(values):\n    return [2 * v for v in values]\n",
        'mine = exercise("toy.double", mine)',
        "import torch\n\n@torch.no_grad()\ndef mine(values):\n    return [2 * v for v in values]\n",
    ),
    "a class that has only a base and no method of its own": (
        "toy.counter",
        COUNTER.replace("Mine", "Base") + "\n\nclass Mine(Base):\n    start = 0\n",
        'Mine = exercise("toy.counter", Mine)',
        COUNTER.replace("Mine", "Base") + "\nclass Mine(Base):\n    start = 0\n",
    ),
    "a function in a block": (
        "toy.double",
        "if True:\n    def mine(values):\n        return [\n            2 * v for v in values]\n",
        'mine = exercise("toy.double", mine)',
        "def mine(values):\n    return [\n        2 * v for v in values]\n",
    ),
    "a text of several lines": (
        "toy.double",
        'def mine(values):\n    """Two\n\n  é\n     deep."""\n    return [2 * v for v in values]\n',
        'mine = exercise("toy.double", mine)',
        'def mine(values):\n    """Two\n\n  é\n     deep."""\n    return [2 * v for v in values]\n',
    ),
}


@pytest.mark.parametrize("case", CUT)
def test_an_answer_of_a_cell_is_kept_whole_and_comes_back(case, run):
    id, text, hand_in, kept = CUT[case]
    assert "not kept" not in run(f"{text}\n{hand_in}")
    assert answers.read(id).text == kept
    restart()
    said = run(f'found = yours("{id}")')
    assert said.startswith(f"✓ {id}: your own, solved on 20")
    found = run.names["found"]
    assert found not in (double, Counter)
    assert found([2]) == [4] if id == "toy.double" else found().step() == 1


def test_a_real_kernel_keeps_a_class_a_function_and_a_lambda(my):
    """Across a restart: a second kernel finds what the first kept; all is said in colour."""
    toys = "from tests.exercises import toys\nfrom tlcourse.exercises import *\ntoys.register();"
    count_labels = """from collections import Counter

def whole(counts):
    return counts.total()

def count_labels(labels):
    counts = Counter(labels)
    return {label: count / whole(counts) for label, count in counts.items()}

count_labels = exercise("start.count_labels", count_labels)"""
    said, book = notebook(
        toys,
        COUNTER,
        'Mine = exercise("toy.counter", Mine)',
        count_labels,
        'mine = exercise("toy.double", lambda values: [2 * value for value in values])',
    )
    assert [each.startswith("✓ Solved: all") for each in said] == [False, False, True, True, True]
    assert not any("kept" in each for each in said)
    assert "#009E73" in book.cells[2].outputs[0].data["text/html"]
    said, book = notebook(
        toys,
        "class Mine:\n    def step(self): ...\nMine = exercise('toy.counter', Mine)\nMine().step()",
        "print(yours('start.count_labels')('aab'), yours('toy.double')([4]))",
        "progress()",
    )
    assert said[1].startswith("✓ Solved before: your answer of 20") and said[1].endswith("\n1")
    assert "{'a': 0.6666666666666666, 'b': 0.3333333333333333} [8]" in said[2]
    assert "3 of" in said[3] and "<table>" in book.cells[3].outputs[0].data["text/html"]
    assert sorted(each.stem for each in my.iterdir()) == [
        "start.count_labels", "toy.counter", "toy.double",
    ]  # fmt: skip


def test_an_answer_that_leans_on_another_cell_is_used_now_and_not_kept(run):
    helper = "def twice(value):\n    return 2 * value"
    lean = "def mine(values):\n    return [twice(value) for value in values]\n"
    hand_in = '\nmine = exercise("toy.double", mine)'
    said = run(helper, lean + hand_in)
    why = (
        "Yours is used from here on.\nIt is used here and not kept for later: it uses `twice` of "
        "another cell; put that into the answer's cell, or import it there.\n"
    )
    assert why in said
    assert run.names["mine"]([1]) == [2] and run.names["mine"] is not double
    assert answers.read("toy.double") == Kept()
    keep("toy.double", DOUBLE)
    assert "import it there; the one that was kept before stays." in run(lean + hand_in)
    assert answers.read("toy.double").text == DOUBLE
    assert "not kept" not in run(f"{helper}\n\n{lean}{hand_in}")
    assert answers.read("toy.double").text == f"{helper}\n\n{lean}"


def test_an_answer_whose_text_is_not_to_be_found_is_used_now_and_not_kept(run):
    cell = "from functools import partial\nmine = exercise('toy.double', partial(map, lambda v: v))"
    assert "✗ Stage 1" in run(cell)
    said = run("mine = exercise('toy.double', eval('lambda values: [2 * v for v in values]'))")
    assert said.startswith("✓ Solved") and "It is not kept: its text is not to be found." in said
    assert answers.read("toy.double").text == ""


# Broken files

BROKEN = {
    "no Python": (HEADER + "\ndef mine(values:\n", "line 3 is no Python ('(' was never closed)"),
    "a null byte": (HEADER + "\ndef mine(values): \0\n", "is no Python"),
    "not UTF-8": (b"# tlcourse {}\n\n'\xff'\n", "cannot be read (UnicodeDecodeError)"),
    "empty": ("", "cannot be read (JSONDecodeError)"),
    "no header": ("\n" + DOUBLE, "cannot be read (JSONDecodeError)"),
    "half a header": (HEADER[:40] + "\n" + DOUBLE, "cannot be read (JSONDecodeError)"),
    "another field": (HEADER.replace("tries", "trees") + DOUBLE, "cannot be read (TypeError)"),
    "no number": (HEADER.replace("1", '"x"', 1) + DOUBLE, "cannot be read (TypeError)"),
    "no date": (HEADER.replace('"2026-01-02"', "5", 2) + DOUBLE, "cannot be read (TypeError)"),
    "a list": ("# tlcourse []\n" + DOUBLE, "cannot be read (TypeError)"),
    "a text without a date": (
        HEADER.replace('"solved": "2026-01-02"', '"solved": ""') + DOUBLE,
        "cannot be read (ValueError)",
    ),
    "a date without a text": (HEADER, "cannot be read (ValueError)"),
    "it does not pass": (
        HEADER + "def mine(values):\n    return values\n",
        "alone it does not pass any more (Stage 1 of 2: one number. Check: `[3]`. "
        "Yours: [3] Expected: [6]",
    ),
    "another name": (HEADER + "def other(values):\n    pass\n", "it does not define `mine`"),
    "an outside name": (HEADER + "mine = twice\n", "it uses `twice` of another cell"),
    "it raises": (HEADER + "\n1 / 0\nmine = 1\n", "running it raised ZeroDivisionError, in line 3"),
    "it ends Python": (HEADER + "\nraise SystemExit\nmine = 1\n", "running it raised SystemExit"),
    "it asks": (HEADER + "\nmine = input()\n", "running it raised RuntimeError, in line 3"),
    "it never ends": (
        HEADER + "\nmine = 1\nwhile True:\n    mine += 1\n",
        "running it was stopped after 0.3 seconds, in line",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_file_is_one_line_and_the_reference(case, run, my, monkeypatch):
    monkeypatch.setattr(running, "LIMIT", 0.3)
    content, why = BROKEN[case]
    my.mkdir(parents=True)
    path = my / "toy.double.py"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    before = path.read_bytes()
    said = run('mine = yours("toy.double")')
    assert said.startswith("○ toy.double: the reference; yours is not used: ")
    assert why in said and said.count("\n") == 1
    assert run.names["mine"] is double
    said = run(UNWRITTEN)
    assert said.count("Your kept answer is not used") == 1 and why in said
    assert run.names["mine"] is double
    assert "✗ Stage 1" in run('mine = exercise("toy.double", lambda values: values)')
    run("from tlcourse.exercises import progress\nprogress()")
    assert path.read_bytes() == before, "a try must not write over what might be mended by hand"
    assert "Solved" in run(f'{DOUBLE}\nmine = exercise("toy.double", mine)')
    assert answers.read("toy.double").text == DOUBLE


def test_a_file_that_an_editor_saved_its_own_way_is_whole(my, capsys):
    keep("toy.double", DOUBLE)
    path = my / "toy.double.py"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert yours("toy.double")([2]) == [4]
    assert capsys.readouterr().out == "✓ toy.double: your own, solved on 2026-01-02.\n"


def test_an_error_in_a_kept_answer_names_the_line_of_its_file(my, run):
    keep("toy.double", "def mine(values):\n    return [value / 0 for value in values]\n")
    said = run('yours("toy.double");')
    assert "in line 4: `return [value / 0 for value in values]`" in said
    lines = (my / "toy.double.py").read_text(encoding="utf-8").splitlines()
    assert lines[3] == "    return [value / 0 for value in values]"


# Folders


def test_two_notebooks_at_once(tmp_path, my):
    """Two processes write the same and different answers; none is ever half there, or lost."""
    write = """
import sys
from tlcourse.exercises import answers
from tlcourse.exercises.answers import Kept
for turn in range(150):
    text = f"def mine():\\n    return {turn}\\n" * 200
    for id in ("bpe.merge_pair", NAME):
        answers.write(id, Kept(turn, "2026", "2026", "mine", text))
    answers.write("start.count_labels", Kept(turn, "2026"))
"""
    names = ("bpe.count_pairs", "bpe.encode_pre_token")
    children = [child(tmp_path, write.replace("NAME", repr(name))) for name in names]
    seen = 0
    while any(each.poll() is None for each in children):
        for id in (*names, "bpe.merge_pair", "start.count_labels"):
            kept = answers.read(id)  # raises Broken for half a file
            assert kept.text == f"def mine():\n    return {kept.tries}\n" * 200 * bool(kept.text)
            seen += bool(kept.text)
    assert [said_by(each) for each in children] == ["", ""] and seen
    for id in (*names, "bpe.merge_pair", "start.count_labels"):
        assert answers.read(id).tries == 149
    assert len(list(my.iterdir())) == 4, "no temporary file stays"


def test_a_try_in_one_notebook_does_not_undo_what_another_solved_meanwhile(monkeypatch):
    task, before = get("toy.double"), answers.read("toy.double")
    keep("toy.double", DOUBLE)
    with monkeypatch.context() as patch:
        patch.setattr(keeping, "read", lambda id: before)  # as it was read a moment ago
        keeping.tried(task)
    assert answers.read("toy.double").text == DOUBLE and yours("toy.double") is not double


def test_no_writable_folder_is_one_line_once(tmp_path, monkeypatch, run):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("TLCOURSE_MY", str(tmp_path / "file" / "my"))
    said = run(f'{DOUBLE}\nmine = exercise("toy.double", mine)')
    assert said.startswith("✓ Solved") and said.count("Your answers are not kept: ") == 1
    assert f"{tmp_path / 'file' / 'my' / 'answers'} cannot be written (Not a directory)." in said
    assert run.names["mine"] is not double
    for answer in (DOUBLE, DOUBLE.replace("+", "-")):
        assert "not kept" not in run(f'{answer}\nmine = exercise("toy.double", mine)')
    said = run('yours("toy.double");')
    assert "the reference; not solved yet" in said
    assert "○" in run("from tlcourse.exercises import progress\nprogress()")


def test_a_folder_that_cannot_be_read_is_one_line(monkeypatch, run):
    keep("toy.double", DOUBLE)

    def refuse(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    said = run('yours("toy.double");')
    assert "cannot be read (PermissionError)" in said and said.count("\n") == 1


def test_an_unknown_user_in_the_folders_name_stops_nothing(monkeypatch, run, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TLCOURSE_MY", "~nobody-of-this-name/my")
    assert "the reference; not solved yet" in run('yours("toy.double");')


def test_colab_is_told_once_that_the_folder_goes_with_the_machine(monkeypatch, run, my):
    monkeypatch.setattr(environment, "on_colab", lambda: True)
    said = run('mine = exercise("toy.double", lambda values: values)')
    assert said.count(f"Your answers are kept in {my}, which goes when this machine goes") == 1
    assert "TLCOURSE_MY" in said and "`!tlcourse answers export FILE`" in said
    for answer in ("lambda values: values", "lambda values: [2 * value for value in values]"):
        assert "which goes" not in run(f'mine = exercise("toy.double", {answer})')
    restart()
    assert "which goes" in run('mine = exercise("toy.six", 5)')


def test_colab_with_the_drive_mounted_is_told_nothing(monkeypatch, run, tmp_path):
    monkeypatch.setattr(environment, "on_colab", lambda: True)
    monkeypatch.setenv("TLCOURSE_MY", str(tmp_path / "drive" / "MyDrive" / "course"))
    said = run(f'{DOUBLE}\nmine = exercise("toy.double", mine)')
    assert said == "✓ Solved: all 2 stages passed. Yours is used from here on.\n"
    assert (tmp_path / "drive" / "MyDrive" / "course" / "answers" / "toy.double.py").is_file()


def test_switched_off_nothing_is_read_or_written(monkeypatch, run, my, tmp_path):
    keep("toy.double", DOUBLE)
    monkeypatch.setenv("TLCOURSE_ANSWERS", "off")
    before = {path.name: path.read_bytes() for path in my.iterdir()}
    assert run('mine = yours("toy.double")').startswith("○ toy.double: the reference; not solved")
    assert "Not solved yet" in run(UNWRITTEN) and run.names["mine"] is double
    for answer in (DOUBLE.replace("+", "*"), DOUBLE.replace("+", "-")):
        run(f'{answer}\nmine = exercise("toy.double", mine)')
    run('six = exercise("toy.six", 7)')
    answers.forget("toy.double")
    assert answers.states()["toy.double"] == Kept()
    for carry in (answers.export, answers.load_from):
        with pytest.raises(ValueError, match="TLCOURSE_ANSWERS is off"):
            carry(tmp_path / "answers.zip")
    assert {path.name: path.read_bytes() for path in my.iterdir()} == before


# What builds on what


def test_an_answer_is_checked_with_the_learners_own_that_it_builds_on(run):
    merge = """CALLS = []

def merge_pair(tokens, pair, new_token):
    CALLS.append(pair)
    merged, i = [], 0
    while i < len(tokens):
        hit = tuple(tokens[i : i + 2]) == pair
        merged.append(new_token if hit else tokens[i])
        i += 1 + hit
    return merged

merge_pair = exercise("bpe.merge_pair", merge_pair)"""
    encode = """def encode_pre_token(tokens, merges):
    for pair, new_token in merges:
        tokens = merge_pair(tokens, pair, new_token)
    return list(tokens)

encode_pre_token = exercise("bpe.encode_pre_token", encode_pre_token)"""
    assert "not kept" not in run(merge) + run(encode)
    restart()
    run('encode_pre_token = yours("bpe.encode_pre_token")')
    own = run.names["encode_pre_token"].__globals__["merge_pair"]
    assert own is not get("bpe.merge_pair").solution and own.__globals__["CALLS"]
    answers.forget("bpe.merge_pair")
    assert "your own" in run('encode_pre_token = yours("bpe.encode_pre_token")')
    own = run.names["encode_pre_token"].__globals__["merge_pair"]
    assert own is get("bpe.merge_pair").solution


def test_an_answer_that_is_a_class_builds_on_others_by_the_names_of_their_classes(run):
    feed_forward = """import torch
from torch import nn
from tlcourse.transformer import ACTIVATIONS

class FeedForward(nn.Module):
    mine = True

    def __init__(self, config):
        super().__init__()
        self.up = nn.Linear(config.width, config.feed_forward)
        self.down = nn.Linear(config.feed_forward, config.width)
        self.activation = ACTIVATIONS[config.activation]

    def forward(self, x):
        return self.down(self.activation(self.up(x)))

FeedForward = exercise("transformer.feed_forward", FeedForward)
Attention = yours("transformer.self_attention")"""
    block = """class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.attention_norm, self.attention = nn.LayerNorm(config.width), Attention(config)
        self.feed_forward_norm = nn.LayerNorm(config.width)
        self.feed_forward = FeedForward(config)
        for layer in (self.attention.output, self.feed_forward.down):
            nn.init.zeros_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, x, mask=None, table=None):
        x = x + self.attention(self.attention_norm(x), mask, table)
        return x + self.feed_forward(self.feed_forward_norm(x))

Block = exercise("transformer.block", Block)"""
    assert "not kept" not in run(feed_forward) + run(block)
    restart()
    assert "your own" in run('Block = yours("transformer.block")')
    known = run.names["Block"].forward.__globals__
    assert known["FeedForward"].mine
    assert known["Attention"] is get("transformer.self_attention").solution


# Tries, dates, the table


def test_tries_are_counted_and_a_newer_answer_that_passes_replaces_the_old(run, monkeypatch):
    days = iter(["2026-01-01T10:00:00", "2026-01-02T10:00:00", "2026-01-03T10:00:00"])
    monkeypatch.setattr(keeping, "_now", lambda: next(days))
    run(UNWRITTEN)
    assert answers.read("toy.double") == Kept()
    run('mine = exercise("toy.double", lambda values: values)')
    run('mine = exercise("toy.double", lambda values: values)')
    assert answers.read("toy.double") == Kept(2, "2026-01-01T10:00:00")
    hand_in = '\nmine = exercise("toy.double", mine)'
    run(DOUBLE + hand_in)
    solved = answers.read("toy.double")
    assert (solved.tries, solved.solved) == (3, "2026-01-02T10:00:00")
    run('mine = exercise("toy.double", lambda values: values)')
    assert answers.read("toy.double") == solved
    newer = DOUBLE.replace("value + value", "2 * value")
    run(newer + hand_in)
    assert answers.read("toy.double") == Kept(3, solved.first, solved.solved, "mine", newer)
    assert run('yours("toy.double")([4])') != "" and yours("toy.double")([4]) == [8]


def test_an_answer_that_is_kept_already_is_not_checked_twice(run, monkeypatch):
    cell = f'{DOUBLE}\nmine = exercise("toy.double", mine)'
    run(cell)
    monkeypatch.setattr(keeping, "restore", None)
    assert "Solved" in run(cell)


def test_progress_shows_what_is_solved_and_tried_and_what_is_next(capsys):
    keep("start.count_labels", DOUBLE)
    answers.write("bpe.count_pairs", Kept(tries=2, first="2026-01-01"))
    progress()
    head, *rows, last = capsys.readouterr().out.splitlines()
    assert head.split() == ["exercise", "id", "minutes"]
    assert rows[0].startswith("✓  0.1 The share of each label") and len(rows) == len(
        answers.states()
    )
    assert rows[0].split("  ")[-1] == "solved 2026-01-02, 1 try"
    assert rows[1].startswith("○  1.1 Count pairs") and rows[1].endswith("  2 tries")
    assert rows[2].split()[-2:] == ["bpe.merge_pair", "10"]
    minutes = sum(get(id).minutes for id in answers.states()) - get("start.count_labels").minutes
    assert last == (
        f"1 of {len(rows)} solved; about {minutes} minutes to go. "
        "Next: 1.1 Count pairs, weighed by the words' counts, lesson 01."
    )


def test_progress_is_a_table_in_a_notebook_and_ends_when_all_is_solved(monkeypatch):
    shown = []
    monkeypatch.setattr(session.messages, "show", shown.append)
    progress()
    html = shown[0]._repr_html_()
    assert html.startswith("<table><tr>") and html.count("<tr>") == len(answers.states()) + 1
    assert "the words&#x27; counts</td>" in html and "<p>0 of" in html
    for id in answers.states():
        keep(id, DOUBLE)
    progress()
    assert repr(shown[1]).endswith(f"{len(answers.states())} of {len(answers.states())} solved.")


# Carrying answers


def test_answers_are_exported_and_imported(my, tmp_path, monkeypatch):
    keep("toy.double", DOUBLE)
    keep("toy.counter", COUNTER, "Mine")
    answers.write("toy.six", Kept(tries=2, first="2026"))
    answers.write("toy.mend", Kept(tries=1, first="2026"))
    (my / "note.txt").write_text("no answer")
    (my / "bpe.merge_pair.py").write_text("broken")
    path = tmp_path / "answers.zip"
    told = answers.export(path)
    assert told == (
        f"{path}: 2 solved, 2 tried. Left out, for they cannot be read: bpe.merge_pair."
    )
    with pytest.raises(FileExistsError, match="is there already; choose another name"):
        answers.export(path)
    exported = {id: answers.read(id) for id in ("toy.double", "toy.counter", "toy.six")}

    monkeypatch.setenv("TLCOURSE_MY", str(tmp_path / "other"))
    with pytest.raises(ValueError, match="nothing is kept yet in"):
        answers.export(tmp_path / "none.zip")
    own = DOUBLE.replace("value + value", "2 * value")
    keep("toy.double", own)
    answers.write("toy.six", Kept(tries=1, first="2025"))
    answers.write("toy.counter", Kept(tries=1, first="2025"))
    answers.write("toy.mend", Kept(tries=1, first="2025"))
    assert answers.load_from(path) == (
        "Taken: toy.counter, toy.six.\nLeft: toy.double (solved here), toy.mend (tried here)."
    )
    assert answers.read("toy.double").text == own and answers.read("toy.mend").first == "2025"
    for id in ("toy.counter", "toy.six"):
        assert answers.read(id) == exported[id]
    assert yours("toy.counter")().step() == 1 and yours("toy.counter") is not Counter
    assert answers.load_from(path).startswith("Taken: nothing.\n")
    answers.forget("toy.double")
    (tmp_path / "other" / "answers" / "toy.counter.py").write_text("broken")
    assert answers.load_from(path) == (
        "Taken: toy.double.\n"
        "Left: toy.counter (its file here cannot be read), toy.mend (tried here), "
        "toy.six (tried here)."
    )


GOOD = HEADER + "\n" + DOUBLE
REFUSED = {
    "another name": ({"toy.double.py": GOOD, "evil.py": "1"}, "it holds 'evil.py'"),
    "a path": ({"toy.double.py": GOOD, "../toy.six.py": GOOD}, "it holds '../toy.six.py'"),
    "a folder": ({"answers/": ""}, "it holds 'answers/'"),
    "a root": ({"/toy.double.py": GOOD}, "it holds '/toy.double.py'"),
    "twice": ({"toy.double.py": GOOD, "toy.double.tried": HEADER}, "it holds 'toy.double.tried'"),
    "large": ({"toy.double.py": GOOD + "#" * 10**6}, "it holds 'toy.double.py'"),
    "damaged": ({"toy.six.tried": HEADER, "toy.double.py": "x"}, "got "),
    "no answer": ({"toy.double.py": '# tlcourse {"tries": 1}\n'}, "'toy.double.py' is damaged"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_an_archive_of_anything_else_is_refused_and_nothing_is_taken(case, my, tmp_path):
    contents, why = REFUSED[case]
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    with pytest.raises(ValueError, match="expected a file written by `tlcourse answers") as error:
        answers.load_from(tmp_path / "other.zip")
    assert why in str(error.value) and "\n" not in str(error.value)
    assert not my.exists() and not (tmp_path / "toy.six.py").exists()


def test_what_is_no_archive_is_refused(tmp_path, my):
    keep("toy.double", DOUBLE)
    answers.export(tmp_path / "half.zip")
    whole = (tmp_path / "half.zip").read_bytes()
    answers.forget("toy.double")
    for content in (b"", b"no archive", whole[: len(whole) // 2], whole.replace(b"PK", b"KP", 1)):
        (tmp_path / "half.zip").write_bytes(content)
        with pytest.raises(ValueError, match="expected a file written by"):
            answers.load_from(tmp_path / "half.zip")
    with pytest.raises(OSError, match="nothing.zip"):
        answers.load_from(tmp_path / "nothing.zip")
    assert not list(my.iterdir())


def test_forgetting_removes_one_answer(my):
    for id in ("toy.double", "toy.six"):
        answers.write(id, Kept(tries=1, first="2026"))
        keep(id, DOUBLE)
    answers.forget("toy.double")
    assert sorted(each.name for each in my.iterdir()) == ["toy.six.py", "toy.six.tried"]
    answers.forget("toy.double")
    with pytest.raises(Unknown, match="did you mean 'toy.double'"):
        answers.forget("toy.dubble")


def test_a_file_is_a_header_and_the_text(my):
    keep("toy.double", DOUBLE)
    head, empty, *text = (my / "toy.double.py").read_text(encoding="utf-8").split("\n")
    assert json.loads(head.removeprefix("# tlcourse "))["name"] == "mine"
    assert empty == "" and "\n".join(text) == DOUBLE
    assert exercise("toy.double", double) is double
