"""What passed is kept, and comes back: each rule of it, tried."""

import subprocess
import sys
import zipfile
from pathlib import Path
from unittest.mock import Mock

import nbformat
import pytest
from IPython.core.interactiveshell import InteractiveShell
from nbclient import NotebookClient
from traitlets.config import Config

from tests.exercises.toys import Counter, double
from tlcourse import environment, files
from tlcourse.exercises import answers, keeping, progress, running, session, table, yours
from tlcourse.exercises.answers import Kept
from tlcourse.exercises.task import Unknown, get

pytestmark = pytest.mark.usefixtures("toy", "my")

HEADER = '# tlcourse {"tries": 1, "first": "2026-01-02", "solved": "2026-01-02", "name": "mine"}\n'
DOUBLE = """def mine(values):
    return [value + value for value in values]
"""
HAND_IN = '\nmine = exercise("toy.double", mine)'
UNWRITTEN = f"def mine(values):\n    ...  # your code here\n{HAND_IN}"
WRONG = 'mine = exercise("toy.double", lambda values: values)'


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
    for each in (session._returned, session._hints_shown, session._last, answers._notices):
        each.clear()


def keep(id, text, name="mine"):
    """Writes an answer as if it had passed, whatever it is."""
    answers.write(id, Kept(1, "2026-01-02T10:00:00", "2026-01-02T10:00:00", name, text))


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


def test_run_all_with_the_cell_solved_and_then_unsolved_gives_the_learners_own(run):
    for _ in range(2):
        assert run(DOUBLE + HAND_IN).startswith("✓ Solved: all 2 stages passed.")
        assert run.names["mine"]([2]) == [4] and run.names["mine"] is not double
        restart()
    assert answers.read("toy.double").text == DOUBLE
    for _ in range(2):
        assert run(UNWRITTEN).startswith("✓ Solved before: your answer of 20")
        assert run.names["mine"] is not double and run.names["mine"]([2]) == [4]


def test_definition_and_hand_in_in_two_cells(run):
    assert "Solved" in run(DOUBLE, HAND_IN)
    own = run.names["mine"]
    assert "Solved" in run(HAND_IN) and run.names["mine"] is own
    assert answers.read("toy.double").text == DOUBLE and answers.read("toy.double").tries == 1
    restart()
    unwritten = UNWRITTEN.removesuffix(HAND_IN)
    assert "Solved before: your answer of" in run(unwritten, HAND_IN)
    assert run(HAND_IN) == "✓ Solved before: your kept answer of toy.double is used.\n"
    answers.forget("toy.double")
    assert "Not solved yet, and that is fine" in run(unwritten, HAND_IN)
    assert "this is the reference that came back before" in run(HAND_IN)
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
DECORATED = (
    "import torch\n\n@torch.no_grad()\ndef mine(values):\n"
    '    """Two\n\n  é\n     deep."""\n    return [2 * v for v in values]\n'
)
HELPERS = (
    "def twice(value):\n    return times(value, TABLE['two'])\n\n"
    "{}def mine(values):  # in a loop\n    losses = []\n    for value in values:\n"
    "        losses.append(int(twice(value) * ROOT / 2))\n\n    return losses\n"
)
CUT = {  # what stands in the cell, what is handed in, what is kept
    "a function": (DOUBLE, "mine", DOUBLE),
    "a class": (COUNTER, "Mine", COUNTER),
    "a lambda without a name": (
        "",
        "lambda values: [\n    2 * v for v in values]",
        "answer = (lambda values: [\n    2 * v for v in values])\n",
    ),
    "imports, helpers and values of the cell": (
        "import math, random\nfrom operator import mul as times\n\nWIDTH, DEPTH = 2, 3\n"
        "TABLE: dict = {}\nTABLE['two'] = WIDTH\nlosses = random.random()\nROOT = math.sqrt(4)\n\n"
        + HELPERS.format("def never(value):\n    return elsewhere\n\n\n"),
        "mine",
        "import math, random\n\nfrom operator import mul as times\n\nWIDTH, DEPTH = 2, 3\n\n"
        "TABLE: dict = {}\n\nTABLE['two'] = WIDTH\n\nROOT = math.sqrt(4)\n\n" + HELPERS.format(""),
    ),
    "a decorated function with a text of several lines": (DECORATED, "mine", DECORATED),
    "a class that has only a base and no method of its own": (
        COUNTER.replace("Mine", "Base") + "\n\nclass Mine(Base):\n    start = 0\n",
        "Mine",
        COUNTER.replace("Mine", "Base") + "\nclass Mine(Base):\n    start = 0\n",
    ),
    "a function in a block": (
        "if True:\n    def mine(values):\n        return [\n            2 * v for v in values]\n",
        "mine",
        "def mine(values):\n    return [\n        2 * v for v in values]\n",
    ),
}


@pytest.mark.parametrize("case", CUT)
def test_an_answer_of_a_cell_is_kept_whole_and_comes_back(case, run):
    text, answer, kept = CUT[case]
    id = "toy.counter" if answer == "Mine" else "toy.double"
    assert "not kept" not in run(f'{text}\nmine = exercise("{id}", {answer})')
    assert answers.read(id).text == kept
    restart()
    assert run(f'found = yours("{id}")').startswith(f"✓ {id}: your own, solved on 20")
    found = run.names["found"]
    assert found not in (double, Counter)
    assert found([2]) == [4] if id == "toy.double" else found().step() == 1


def test_a_lambda_on_one_line_with_its_hand_in_is_kept_alone(run):
    run('mine = lambda values: [2 * v for v in values]; mine = exercise("toy.double", mine)')
    assert answers.read("toy.double").text == "mine = lambda values: [2 * v for v in values]\n"


def test_a_real_kernel_keeps_a_class_and_a_lambda(my):
    """Across a restart: a second kernel finds what the first kept; all is said in colour."""
    toys = "from tests.exercises import toys\nfrom tlcourse.exercises import *\ntoys.register();"
    said, book = notebook(
        toys,
        COUNTER,
        'Mine = exercise("toy.counter", Mine)',
        'mine = exercise("toy.double", lambda values: [2 * value for value in values])',
    )
    assert [each.startswith("✓ Solved: all") for each in said] == [False, False, True, True]
    assert not any("kept" in each for each in said)
    assert "#009E73" in book.cells[2].outputs[0].data["text/html"]
    said, book = notebook(
        toys,
        "class Mine:\n    def step(self): ...\nMine = exercise('toy.counter', Mine)\nMine().step()",
        "print(yours('toy.double')([4]))",
        "progress()",
    )
    assert said[1].startswith("✓ Solved before: your answer of 20") and said[1].endswith("\n1")
    assert said[2].startswith("✓ toy.double: your own, solved on 20") and "[8]" in said[2]
    assert "2 of" in said[3] and "<table>" in book.cells[3].outputs[0].data["text/html"]
    assert sorted(each.stem for each in my.iterdir()) == ["toy.counter", "toy.double"]


def test_an_answer_that_leans_on_another_cell_is_used_now_and_not_kept(run):
    helper = "def twice(value):\n    return 2 * value"
    lean = "def mine(values):\n    return [twice(value) for value in values]\n"
    said = run(helper, lean + HAND_IN)
    why = (
        "Yours is used from here on.\nIt is used here but not kept for later: it uses `twice` of "
        "another cell; put that into the answer's cell, or import it there.\n"
    )
    assert why in said
    assert run.names["mine"]([1]) == [2] and run.names["mine"] is not double
    assert answers.read("toy.double") == Kept()
    keep("toy.double", DOUBLE)
    assert "import it there; your earlier answer is kept." in run(lean + HAND_IN)
    assert answers.read("toy.double").text == DOUBLE


def test_an_answer_whose_text_is_not_to_be_found_is_used_now_and_not_kept(run):
    said = run("mine = exercise('toy.double', eval('lambda values: [2 * v for v in values]'))")
    assert (
        said.startswith("✓ Solved")
        and "It is not kept, because its source cannot be found." in said
    )
    assert answers.read("toy.double").text == ""


# Broken files

BROKEN = {
    "no Python": (
        HEADER + "\ndef mine(values:\n",
        "line 3 is not valid Python ('(' was never closed)",
    ),
    "not UTF-8": (b"# tlcourse {}\n\n'\xff'\n", "cannot be read (UnicodeDecodeError)"),
    "half a header": (HEADER[:40] + "\n" + DOUBLE, "cannot be read (JSONDecodeError)"),
    "another field": (HEADER.replace("tries", "trees") + DOUBLE, "cannot be read (TypeError)"),
    "no number": (HEADER.replace("1", '"x"', 1) + DOUBLE, "cannot be read (TypeError)"),
    "a date without a text": (HEADER, "cannot be read (ValueError)"),
    "it does not pass": (
        HEADER + "def mine(values):\n    return values\n",
        "on its own it no longer passes (Stage 1 of 2: one number. Check: `[3]`. "
        "Yours: [3] Expected: [6]",
    ),
    "another name": (HEADER + "def other(values):\n    pass\n", "it does not define `mine`"),
    "an outside name": (HEADER + "mine = twice\n", "it uses `twice` of another cell"),
    "it raises": (HEADER + "\n1 / 0\nmine = 1\n", "running it raised ZeroDivisionError, in line 3"),
    "it ends Python": (HEADER + "\nraise SystemExit\nmine = 1\n", "running it raised SystemExit"),
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
    assert "✗ Stage 1" in run(WRONG)
    run("from tlcourse.exercises import progress\nprogress()")
    assert path.read_bytes() == before, "a try must not write over what might be mended by hand"
    assert "Solved" in run(DOUBLE + HAND_IN)
    assert answers.read("toy.double").text == DOUBLE


def test_a_file_that_an_editor_saved_its_own_way_is_whole(my, capsys):
    my.mkdir(parents=True)
    content = f"{HEADER}\n{DOUBLE}".replace("\n", "\r\n").encode()
    (my / "toy.double.py").write_bytes(b"\xef\xbb\xbf" + content)
    assert yours("toy.double")([2]) == [4]
    assert capsys.readouterr().out == "✓ toy.double: your own, solved on 2026-01-02.\n"


def test_an_error_in_a_kept_answer_names_the_line_of_its_file(run):
    keep("toy.double", "def mine(values):\n    return [value / 0 for value in values]\n")
    said = run('yours("toy.double");')
    assert "in line 4: `return [value / 0 for value in values]`" in said


# Folders


def test_two_notebooks_at_once(tmp_path, my):
    """Two processes write the same and different answers; none is ever half there, or lost."""
    write = """
import sys
from tlcourse.exercises import answers
from tlcourse.exercises.answers import Kept
for turn in range(150):
    text = f"def mine():\\n    return {turn}\\n" * 200
    for id in ("bpe.merge_pair", sys.argv[1]):
        answers.write(id, Kept(turn, "2026", "2026", "mine", text))
    answers.write("start.count_labels", Kept(turn, "2026"))
"""
    names = ("bpe.count_pairs", "bpe.encode_pre_token")
    every = (*names, "bpe.merge_pair", "start.count_labels")
    writers = [
        subprocess.Popen([sys.executable, "-c", write, name], cwd=files.root()) for name in names
    ]
    seen = 0
    while any(writer.poll() is None for writer in writers):
        for id in every:
            kept = answers.read(id)  # raises Broken for half a file
            assert kept.text == f"def mine():\n    return {kept.tries}\n" * 200 * bool(kept.text)
            seen += bool(kept.text)
    assert [writer.returncode for writer in writers] == [0, 0] and seen
    assert {answers.read(id).tries for id in every} == {149}
    assert len(list(my.iterdir())) == 4, "no temporary file stays"


def test_a_try_in_one_notebook_does_not_undo_what_another_solved_meanwhile(monkeypatch):
    task, before = get("toy.double"), answers.read("toy.double")
    keep("toy.double", DOUBLE)
    with monkeypatch.context() as patch:
        patch.setattr(keeping, "read", lambda id: before)  # as it was read a moment ago
        keeping.count_try(task)
    assert answers.read("toy.double").text == DOUBLE and yours("toy.double") is not double


def test_no_writable_folder_is_one_line_once(tmp_path, monkeypatch, run):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("TLCOURSE_MY", str(tmp_path / "file" / "my"))
    said = run(DOUBLE + HAND_IN)
    assert said.startswith("✓ Solved") and said.count("Your answers are not kept: ") == 1
    assert f"{tmp_path / 'file' / 'my' / 'answers'} cannot be written (Not a directory)." in said
    assert run.names["mine"] is not double
    for answer in (DOUBLE, DOUBLE.replace("+", "-")):
        assert "not kept" not in run(answer + HAND_IN)
    assert "the reference; not solved yet" in run('yours("toy.double");')


def test_a_folder_that_cannot_be_read_is_one_line(monkeypatch, run):
    keep("toy.double", DOUBLE)
    monkeypatch.setattr(Path, "read_bytes", Mock(side_effect=PermissionError(13, "Denied")))
    said = run('yours("toy.double");')
    assert "cannot be read (PermissionError)" in said and said.count("\n") == 1


def test_an_unknown_user_in_the_folders_name_stops_nothing(monkeypatch, run, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TLCOURSE_MY", "~nobody-of-this-name/my")
    said = "○ bpe.merge_pair: the reference; not solved yet (lesson 01, exercise 1.2).\n"
    assert run('yours("bpe.merge_pair");') == said


def test_colab_is_told_once_that_the_folder_goes_with_the_machine(monkeypatch, run, my, tmp_path):
    monkeypatch.setattr(environment, "on_colab", lambda: True)
    said = run(WRONG)
    assert said.count(f"Your answers are kept in {my}, which is lost with this machine") == 1
    assert "TLCOURSE_MY" in said and "`!tlcourse answers export FILE`" in said
    assert "which is lost" not in run(WRONG)
    restart()
    assert "which is lost" in run('mine = exercise("toy.six", 5)')
    restart()
    monkeypatch.setenv("TLCOURSE_MY", str(tmp_path / "drive" / "MyDrive" / "course"))
    said = run(DOUBLE + HAND_IN)
    assert said == "✓ Solved: all 2 stages passed. Yours is used from here on.\n"
    assert (tmp_path / "drive" / "MyDrive" / "course" / "answers" / "toy.double.py").is_file()


def test_switched_off_nothing_is_read_or_written(monkeypatch, run, my, tmp_path):
    keep("toy.double", DOUBLE)
    monkeypatch.setenv("TLCOURSE_ANSWERS", "off")
    before = {path.name: path.read_bytes() for path in my.iterdir()}
    assert run('mine = yours("toy.double")').startswith("○ toy.double: the reference; not solved")
    assert "Not solved yet" in run(UNWRITTEN) and run.names["mine"] is double
    for answer in (DOUBLE.replace("+", "*"), DOUBLE.replace("+", "-")):
        run(answer + HAND_IN)
    run('six = exercise("toy.six", 7)')
    answers.forget("toy.double")
    assert answers.states()["toy.double"] == Kept()
    for carry in (answers.export, answers.load_from):
        with pytest.raises(ValueError, match="TLCOURSE_ANSWERS is off"):
            carry(tmp_path / "answers.zip")
    assert {path.name: path.read_bytes() for path in my.iterdir()} == before


# What builds on what


def test_an_answer_is_checked_with_the_learners_own_that_it_builds_on(run, toy):
    """Functions go by the exercise's name, classes by their own."""
    toy["toy.mend"].builds_on = ("toy.double", "toy.counter")
    keep("toy.double", DOUBLE)
    run('double, Counter = yours("toy.double"), yours("toy.counter")')
    assert "not kept" not in run(
        "def mend(values):\n    return double(values) * Counter().step()\n\n"
        'mend = exercise("toy.mend", mend)'
    )
    restart()
    assert "your own" in run('mend = yours("toy.mend")')
    known = run.names["mend"].__globals__
    assert known["double"] is not double and known["Counter"] is Counter
    answers.forget("toy.double")
    assert "your own" in run('mend = yours("toy.mend")')
    assert run.names["mend"].__globals__["double"] is double


# Tries, dates, the table


def test_tries_are_counted_and_a_newer_answer_that_passes_replaces_the_old(run, monkeypatch):
    days = iter(["2026-01-01T10:00:00", "2026-01-02T10:00:00"])
    monkeypatch.setattr(keeping, "_now", lambda: next(days))
    run(UNWRITTEN)
    assert answers.read("toy.double") == Kept()
    run(WRONG)
    run(WRONG)
    assert answers.read("toy.double") == Kept(2, "2026-01-01T10:00:00")
    run(DOUBLE + HAND_IN)
    solved = answers.read("toy.double")
    assert (solved.tries, solved.solved) == (3, "2026-01-02T10:00:00")
    run(WRONG)
    assert answers.read("toy.double") == solved
    newer = DOUBLE.replace("value + value", "2 * value")
    run(newer + HAND_IN)
    assert answers.read("toy.double") == Kept(3, solved.first, solved.solved, "mine", newer)


def test_an_answer_that_is_kept_already_is_not_checked_twice(run, monkeypatch):
    run(DOUBLE + HAND_IN)
    monkeypatch.setattr(keeping, "restore", None)
    assert "Solved" in run(DOUBLE + HAND_IN)


def test_progress_shows_what_is_solved_and_tried_and_what_is_next(capsys):
    keep("start.count_labels", DOUBLE)
    answers.write("bpe.count_pairs", Kept(tries=2, first="2026-01-01"))
    progress()
    head, *rows, last = capsys.readouterr().out.splitlines()
    assert head.split() == ["exercise", "id", "minutes"]
    assert rows[0].startswith("✓  all of lesson 00") and rows[0].endswith("1 of 1 solved")
    assert rows[1].startswith("○  1.1 Count the pairs") and rows[1].endswith("  2 tries")
    assert rows[2].split()[-2:] == ["bpe.merge_pair", "10"]
    assert "1b.2" in rows[9] and "all of lesson 02 " in rows[10]
    assert rows[10].endswith("0 of 7 solved")
    minutes = sum(get(id).minutes for id in answers.states()) - get("start.count_labels").minutes
    assert last == (
        f"1 of {len(answers.states())} solved; about {minutes} minutes to go. "
        "Next: 1.1 Count the pairs, lesson 01."
    )
    rows = str(table.of(answers.states(), every=True)).splitlines()[1:-1]
    assert len(rows) == len(answers.states())
    assert rows[0].startswith("✓  0.1 The share of each label")
    assert rows[0].split("  ")[-1] == "solved 2026-01-02, 1 try"


def test_progress_ends_when_all_is_solved(capsys):
    for id in answers.states():
        keep(id, DOUBLE)
    progress()
    count = len(answers.states())
    assert capsys.readouterr().out.endswith(f"{count} of {count} solved.\n")


# Carrying answers


def test_answers_are_exported_and_imported(my, tmp_path, monkeypatch):
    keep("toy.double", DOUBLE)
    keep("toy.counter", COUNTER, "Mine")
    for id in ("toy.six", "toy.mend"):
        answers.write(id, Kept(tries=2, first="2026"))
    (my / "note.txt").write_text("no answer")
    (my / "bpe.merge_pair.py").write_text("broken")
    path = tmp_path / "answers.zip"
    assert answers.export(path) == (
        f"{path}: 2 solved, 2 tried. Left out because they cannot be read: bpe.merge_pair."
    )
    with pytest.raises(FileExistsError, match="is there already; choose another name"):
        answers.export(path)
    exported = {id: answers.read(id) for id in ("toy.counter", "toy.six")}

    monkeypatch.setenv("TLCOURSE_MY", str(tmp_path / "other"))
    with pytest.raises(ValueError, match="nothing is kept yet in"):
        answers.export(tmp_path / "none.zip")
    own = DOUBLE.replace("value + value", "2 * value")
    keep("toy.double", own)
    answers.write("toy.six", Kept(tries=1, first="2025"))
    answers.write("toy.mend", Kept(tries=2, first="2025"))
    assert answers.load_from(path) == (
        "Taken: toy.counter, toy.six.\nLeft: toy.double (solved here), toy.mend (tried here)."
    )
    assert answers.read("toy.double").text == own and answers.read("toy.mend").first == "2025"
    assert {id: answers.read(id) for id in exported} == exported
    assert yours("toy.counter")().step() == 1 and yours("toy.counter") is not Counter
    answers.forget("toy.double")
    (tmp_path / "other" / "answers" / "toy.counter.py").write_text("broken")
    told = answers.load_from(path)
    assert told.startswith("Taken: toy.double.\nLeft: toy.counter (its file here cannot be read), ")
    assert answers.load_from(path).startswith("Taken: nothing.\n")


GOOD = HEADER + "\n" + DOUBLE
REFUSED = {
    "another name": ({"toy.double.py": GOOD, "evil.py": "1"}, "it holds 'evil.py'"),
    "a path": ({"toy.double.py": GOOD, "../toy.six.py": GOOD}, "it holds '../toy.six.py'"),
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
    for content in (b"", whole[: len(whole) // 2], whole.replace(b"PK", b"KP", 1)):
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
