import random
import subprocess
import sys
import threading
import time
import warnings
import weakref

import numpy as np
import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell

from tests.exercises.toys import Counter, double, double_all_but_one
from tlcourse.exercises import (
    checking,
    exercise,
    hint,
    listing,
    messages,
    running,
    session,
    solution,
    source,
    yours,
)
from tlcourse.exercises import task as machinery
from tlcourse.exercises.task import case

pytestmark = pytest.mark.usefixtures("toy")


def check(id, candidate):
    return checking.check(machinery.get(id), candidate)


@pytest.fixture
def short_limit(monkeypatch):
    monkeypatch.setattr(running, "LIMIT", 0.3)


def running_exercises():
    threads = threading.enumerate()  # may still list one that was stopped on its last steps
    return [each for each in threads if each.name == "exercise" and each.is_alive()]


# What comes back, and what counts as written


def test_wrong_says_stage_and_hint_and_hands_back_the_reference(capsys):
    def only_first(values):
        return [2 * values[0]] if values else []

    assert exercise("toy.double", only_first) is double
    out = capsys.readouterr().out
    assert "✗ Stage 2 of 2: many numbers.\nCheck: 2 numbers.\nYours: [0]\nExpected: [0, 2]\n" in out
    assert "Hint: begin with no number at all." in out and "Hint 1 of 2" not in out
    exercise("toy.double", lambda values: values)
    assert "Hint 1 of 2: multiply." in capsys.readouterr().out  # the stage has no hint of its own


def ellipsis_only(values): ...  # your code here


def closure():
    outer = []

    def docstring_only(values):
        """Doubles."""
        if False:
            outer.append(1)

    return docstring_only


def half_given(values):
    doubled = ...
    return doubled  # noqa: RET504


def without_source():
    namespace = {}
    exec("def f(values):\n    ...", namespace)
    return namespace["f"]


@pytest.mark.parametrize(
    "candidate",
    [ellipsis_only, closure(), half_given, without_source(), None, ...],
    ids=lambda each: getattr(each, "__name__", str(each)),
)
def test_nothing_written_yet(candidate, capsys):
    assert check("toy.double", candidate).stage == 0
    assert exercise("toy.double", candidate) is double
    assert capsys.readouterr().out == (
        "○ Not solved yet, and that is fine: the notebook goes on with the reference.\n"
        'hint("toy.double") gives a hint, solution("toy.double") shows one way.\n'
    )


def test_an_ellipsis_in_an_index_is_code():
    def by_array(values):
        array = np.array(values, dtype=int)
        array[...] = 2 * array[..., :]
        return array.tolist()

    assert check("toy.double", by_array).passed


def test_the_code_to_be_mended_as_it_was_given(capsys):
    def same(values):
        # neither a comment nor a missing docstring makes it another
        return [2 * value for value in values[1:]]

    def changed(values):
        return [3 * value for value in values[1:]]

    assert exercise("toy.mend", same) is double
    said, help = capsys.readouterr().out.splitlines()
    assert said.startswith("○ Not solved yet, this is the code as it was given: the notebook goes")
    assert help == 'hint("toy.mend") gives a hint, solution("toy.mend") shows one way.'
    assert check("toy.mend", changed).stage == check("toy.mend", print).stage == 1
    assert check("toy.double", double_all_but_one).stage == 1
    shell = InteractiveShell()
    shell.run_cell("def mend(values):\n    return [2 * value for value in values[1:]]")
    assert check("toy.mend", shell.user_ns["mend"]).stage == 0


def test_a_class():
    class Mine:
        def __init__(self):
            ...  # your code here
            self.count = 0

        def step(self):
            self.count = self.count + 1
            return self.count

    class Half(Mine):
        def step(self): ...

    class UnwrittenAttribute(Mine):
        def __init__(self):
            self.count = ...

    class Broken(Mine):
        def __init__(self, start):
            self.count = start

    assert exercise("toy.counter", Mine) is Mine
    assert check("toy.counter", Half).stage == check("toy.counter", UnwrittenAttribute).stage == 0
    assert "TypeError" in check("toy.counter", Broken).message
    assert "Yours: 3\nExpected: a class" in check("toy.counter", 3).message


def test_a_value(capsys):
    assert exercise("toy.six", 6.0) == 6
    assert exercise("toy.six", 7) == 6
    assert "Check: Your answer.\nYours: 7\nExpected: 6\n" in capsys.readouterr().out
    assert check("toy.six", None).stage == 0


# Wrong values, errors, loops


class Odd:
    def __eq__(self, other):
        raise RuntimeError

    def __repr__(self):
        raise RuntimeError


class Rude(BaseException):
    def __str__(self):
        raise ValueError


def gives_nothing(values):
    values.copy()


def in_place(values):
    for index in range(len(values)):
        values[index] *= 2
    return values


def misuses(values):
    return torch.tensor(values).reshape(7, 7).tolist()


def ends_python(values):
    raise SystemExit(3)


def rude(values):
    raise Rude


def endless(values):
    return endless(values)


def asks(values):
    return [int(input("how many? ")) * value for value in values]


@pytest.mark.parametrize(
    ("candidate", "said"),
    [
        (gives_nothing, "Yours: None (is a `return` missing?)\nExpected: [6]"),
        (lambda values: np.array([[1, 2], [3, 4]]), "(an ndarray)"),
        (lambda values: Odd(), "a Odd whose repr raises"),
        (in_place, "Argument 1, `values`, after the call.\nYours: changed from [3] to [6]"),
        (
            misuses,  # the line of the answer, not that of the library
            f"line {misuses.__code__.co_firstlineno + 1}: `return torch.tensor(values).reshape(",
        ),
        (ends_python, "Yours: raised SystemExit"),
        (rude, "Yours: raised Rude"),
        (endless, "Yours: raised RecursionError"),
        (asks, "it calls input(), but its arguments contain all that it needs"),
    ],
)
def test_what_is_wrong_is_told(candidate, said):
    message = check("toy.double", candidate).message
    assert said in message and "stopped after" not in message
    assert exercise("toy.double", candidate) is double


def test_code_that_is_stopped_on_no_line_is_described_by_its_first():
    assert "def test_code_that_is_stopped" in running._describe(sys._getframe(), None)


def test_the_line_in_a_cell_of_ipython():
    shell = InteractiveShell()
    shell.run_cell("def f(values):\n    good = 1\n    return undefined_name")
    message = check("toy.double", shell.user_ns["f"]).message
    assert "NameError: name 'undefined_name' is not defined" in message
    assert "line 3: `return undefined_name`" in message


def test_arguments_that_it_does_not_take_are_told_with_what_it_was_called_with():
    message = check("bpe.count_pairs", lambda: {}).message
    assert "takes 0 positional arguments but 1 was given\nWhy: Does it take" in message
    assert "Your code, called with number 1 = {('r', 'a', 'n'): 1}." in message


def test_what_it_prints_is_kept_short(capsys):
    def talks(values):
        print("looking at", values)
        return [2 * value for value in values]

    exercise("toy.double", talks)
    assert "(Your code printed: looking at [3] ⏎ looking at []" in capsys.readouterr().out
    exercise("toy.double", lambda values: print("x" * 100_000))
    assert len(capsys.readouterr().out) < 1000


def loops_and_catches(values):
    while True:
        try:  # noqa: SIM105
            sorted(range(1000))
        except BaseException:
            pass


def loops_and_prints(values):
    while True:
        print(values)


def loops_in_a_callback(values):
    def forgotten(_):  # has no caller to raise to: Python reports what is raised in it
        for _ in range(100):
            pass

    while True:
        counter = Counter()
        watcher = weakref.ref(counter, forgotten)
        del counter  # calls it
        del watcher


@pytest.mark.usefixtures("short_limit")
@pytest.mark.parametrize("candidate", [loops_and_catches, loops_and_prints, loops_in_a_callback])
def test_an_endless_loop_is_stopped_and_named(candidate, monkeypatch):
    reports = []
    monkeypatch.setattr(sys, "unraisablehook", reports.append)
    report = check("toy.double", candidate)
    assert report.stage == 1
    assert "stopped after 0.3 seconds, in line" in report.message
    assert "Is there a loop that never ends" in report.message
    assert not running_exercises() and not reports


@pytest.mark.usefixtures("short_limit")
def test_a_sleeper_does_not_hold_the_notebook(monkeypatch):
    def sleeps(values):
        time.sleep(3)

    monkeypatch.setattr(running, "PATIENCE", 0.2)
    monkeypatch.setattr(running, "WAITING", 2)
    message = check("toy.double", sleeps).message
    assert "stopped after 0.6 seconds, in line" in message and "`time.sleep(3)`" in message
    assert "Does it wait for something" in message and "never ends" not in message
    assert "restart the kernel" in message
    for thread in running_exercises():
        thread.join()


@pytest.mark.usefixtures("short_limit")
def test_only_the_seconds_that_an_answer_computes_count():
    naps = [0.8]  # longer than the limit, as on a machine that is busy with other work

    def slowed_down(values):
        time.sleep(naps.pop() if naps else 0)
        return [2 * value for value in values]

    assert check("toy.double", slowed_down).passed and not naps


def test_random_numbers_after_an_exercise_do_not_depend_on_it():
    def seed(value):
        random.seed(value), np.random.seed(value), torch.manual_seed(value)

    def seeds(values):
        seed(1)
        return [2 * value for value in values]

    def draw():
        return random.random(), np.random.rand(), torch.rand(1).item()

    seed(5)
    expected = draw()
    seed(5)
    assert check("toy.double", seeds).passed
    assert draw() == expected


def test_torch_warns_of_no_reversed_batch_in_an_answer_and_of_all_else():
    def reverses(values):
        warnings.warn("look here", UserWarning, stacklevel=1)
        torch.ones(2, 3, 4).T  # noqa: B018
        return [2 * value for value in values]

    always = torch.is_warn_always_enabled()
    torch.set_warn_always(True)  # else once a process
    try:
        with warnings.catch_warnings(record=True) as shown:
            warnings.simplefilter("always")
            assert check("toy.double", reverses).passed
            inside = {str(each.message) for each in shown}
            torch.ones(2, 3, 4).T  # noqa: B018
    finally:
        torch.set_warn_always(always)
    assert inside == {"look here"}
    assert str(shown[-1].message).startswith("The use of `x.T` on tensors of dimension other than")


# Hints, solutions, ids


def test_hints_can_be_read_again_and_wrong_answers_use_up_none(capsys):
    hint()
    assert "No exercise has been checked yet" in capsys.readouterr().out
    first = ["Hint 1 of 2: multiply.", 'hint("toy.double") shows more.']
    for _ in range(2):
        exercise("toy.double", lambda values: values)
        assert capsys.readouterr().out.splitlines()[-2:] == first
    both = [first[0], "Hint 2 of 2: by two.", 'solution("toy.double") shows one way.']
    for _ in range(2):
        hint()
        assert capsys.readouterr().out.splitlines() == both
    exercise("toy.double", lambda values: values)
    assert capsys.readouterr().out.splitlines()[-3:] == both


def test_solution(capsys):
    solution("toy.double")
    assert "return [2 * value for value in values]" in capsys.readouterr().out
    exercise("toy.six", None)
    capsys.readouterr()
    solution()
    assert capsys.readouterr().out == "6\n"


def test_a_solution_is_shown_without_imports_decorator_and_annotations(capsys):
    text = """
    from fractions import (
        Fraction,
    )

    @dataclass(frozen=True)
    class Whole:
        size: float = 1.0

    @task.reference
    def shares(values: list[int], whole: Whole = Whole()) -> dict[str, float]:
        # each over the whole
        return {str(value): value / whole.size for value in values}
    """
    assert session.without_annotations(text) == (
        "@dataclass(frozen=True)\nclass Whole:\n    size: float = 1.0\n\n"
        "def shares(values, whole=Whole()):\n    # each over the whole\n"
        "    return {str(value): value / whole.size for value in values}\n"
    )


@pytest.mark.parametrize("id", ["start.unknown", "machinery.check", ""])
def test_an_unknown_id_names_the_three_nearest_and_where_all_are(id):
    there = "|".join(machinery.ids())
    end = r"\? See `tlcourse progress --all`"
    said = rf"no exercise '{id}'; did you mean ('({there})'( or |, |{end})){{3}}"
    for function in (machinery.get, lambda id: exercise(id, None), yours):
        with pytest.raises(KeyError, match=said):
            function(id)


def test_a_misspelt_id_is_one_line_in_hint_and_solution(capsys):
    for function in (hint, solution):
        function("toy.duoble")
        said = capsys.readouterr().out
        assert "did you mean 'toy.double', '" in said and said.count("\n") == 1


def test_help_beside_the_exercises_of_a_topic_is_no_exercise(tmp_path, monkeypatch):
    monkeypatch.undo()  # the toys
    (tmp_path / "topic").mkdir()
    for name in ("__init__", "double", "_help"):
        (tmp_path / "topic" / f"{name}.py").touch()
    monkeypatch.setattr(listing, "HERE", tmp_path)
    assert listing.names() == ["topic.double"]


def test_a_list_says_what_the_exercises_say_and_imports_none_of_them():
    for id in listing.names():
        told, task = listing.read(id), machinery.get(id)
        assert (told.number, told.title, told.minutes) == (task.number, task.title, task.minutes)
        assert (told.difficulty, told.lesson) == (task.difficulty, task.lesson)
    orders = [listing.read(id).order for id in machinery.ids() if not id.startswith("toy.")]
    assert orders == sorted(orders) and len(set(orders)) == len(orders)


def test_an_exercise_of_a_deeper_lesson_stands_after_those_of_its_lesson():
    numbers = ["10.1", "3b.2", "4.1", "3b.1", "3.2"]
    told = [listing.Listed("a.b", number, "", 1, 1) for number in numbers]
    told.sort(key=lambda each: each.order)
    assert [each.number for each in told] == ["3.2", "3b.1", "3b.2", "4.1", "10.1"]
    assert [each.lesson for each in told] == ["03", "03b", "03b", "04", "10"]


def test_an_exercise_is_loaded_without_the_others():
    code = (
        "import sys; from tlcourse.exercises import task; task.get('bpe.merge_pair'); "
        "print([id for id in task._names() if f'tlcourse.exercises.{id}' in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "['bpe.merge_pair']\n"


# Stages, cases, known mistakes


def test_remarks_are_told_when_all_stages_have_passed(toy, capsys):
    task = toy["toy.six"]
    task.stages.insert(0, machinery.Stage("one", lambda _: "Done twice."))
    task.stage("no")(lambda _: "")
    assert exercise("toy.six", 6.0) == 6.0
    said = "✓ Solved: all 3 stages passed. Done twice. Yours is used from here on.\n"
    assert capsys.readouterr().out == said
    assert check("toy.six", 7).message == (
        "Stage 2 of 3: six.\nCheck: Your answer.\nYours: 7\nExpected: 6"
    )


@pytest.fixture
def probing(toy):
    """A function that gives `toy.double` other stages, a case each, and known mistakes."""

    def set_up(cases, *mistakes):
        task = toy["toy.double"]
        task.stages.clear()
        for number, probe in enumerate(cases):
            task.stage(f"probe {number}", probe)
        task.mistakes(*mistakes)
        return task

    return set_up


def told(wrong):
    """The end of what is told of a wrong answer to `toy.double`, from Check on."""
    return check("toy.double", wrong).message.partition("Check: ")[2]


def test_a_known_mistake_is_told_its_sentence_if_it_fits_all_probes_so_far(probing):
    probing(
        [
            case("`[0]`", [0], expected=[0]),
            case("`[2]`", [2], expected=[4], hint="Something else."),
        ],
        ("That is one more, not twice as much.", lambda values: [x + 1 for x in values]),
        ("One is lost.", lambda values: [0 for x in values]),
        ("That raises.", lambda values: values[7]),
    )
    for wrong, said in (
        (lambda values: [value**3 - 4 * value for value in values], "One is lost."),
        (lambda values: [value + 1 for value in values], "That is one more, not twice as much."),
        (lambda values: [-value for value in values], "Something else."),
        (lambda values: [values[5]], "That raises."),
        # as the second on the first probe, as the first on the second
        (lambda values: [value + 1 if value else 0 for value in values], "Something else."),
    ):
        assert told(wrong).endswith(f"Why: {said}")


def test_cases_take_what_they_do_not_say_from_the_stage_and_the_exercise(probing):
    task = probing([])
    task.truth(lambda values: [value + value for value in values])
    task.measure = lambda candidate, values: [float(value) for value in candidate(values)]
    task.tolerance = 0.1
    task.stage(
        "a table",
        case("", [0.5]),
        case("the sum", [1.0], expected=3.0, measure=lambda f, v: sum(f(v)), hint="Its own."),
        hint="The stage's.",
    )
    outside = told(lambda values: [2.5 * value for value in values])
    assert outside == "`double([0.5])`.\nYours: 1.25 at [0]\nExpected: 1\nWhy: The stage's."
    inside = told(lambda values: [2.05 * value for value in values])
    assert inside == "The sum.\nYours: 2.05\nExpected: 3\nWhy: Its own."


def test_each_probe_is_compared_with_mistakes_as_closely_as_with_the_answer(probing):
    probing(
        [
            case("`no`", ["no"], expected=["nono"]),
            case("`[1]`", [1], expected=[2.0], tolerance=1e-3),
            case("`[3]`", [3], expected=[6.0], tolerance=1e-6),
        ],
        ("Two more.", lambda values: [x + (x if x == "no" else min(x, 2)) for x in values]),
    )
    assert told(lambda values: [5 if x == 3 else 2 * x for x in values]) == (
        "`[3]`.\nYours: 5 at [0]\nExpected: 6\nWhy: Two more."
    )
    nearly = [["nono"], [2 + 1e-5], [5]]
    assert told(lambda values: nearly[("no", 1, 3).index(values[0])]).endswith("Why: Two more.")
    talks = told(lambda values: "four" if values == [3] else [2 * x for x in values])
    assert talks == "`[3]`.\nYours: 'four'\nExpected: [6.0]"


def test_an_error_without_a_line_of_the_learners_is_told_what_is_known_of_it(probing):
    probing([case("no numbers", [], expected=[])], ("The largest of nothing is asked for.", max))
    message = told(max)
    assert "raised ValueError" in message
    assert message.startswith("Your code, called with number 1 = [].")
    assert message.endswith("\nWhy: The largest of nothing is asked for.")


def test_an_error_is_not_laid_to_a_mistake_that_would_have_failed_before(probing):
    task = probing(
        [case("`[2]`", [2], expected=[4]), case("`[]`", [], expected=[])],
        ("The second is asked for.", lambda values: [values[1]]),
        ("The first is asked for.", lambda values: [2 * values[0]]),
    )
    assert told(lambda values: [values[0] + values[0]]).endswith("Why: The first is asked for.")
    task.catalogue.pop()
    message = told(lambda values: [values[0] + values[0]])
    assert message.startswith("Your code, called with values = [].") and "Why" not in message


# Marks and colours


def test_a_notebook_shows_a_mark_a_colour_and_stress_but_not_in_code():
    lines = ["Solved: <all>", "A *minus*, `a < b`, `2 * a * b`, 3 * 4 * 5."]
    said = messages.Message("solved", lines)
    assert repr(said) == "✓ Solved: <all>\nA *minus*, `a < b`, `2 * a * b`, 3 * 4 * 5."
    shown = said._repr_html_()
    assert "#009E73" in shown and "<b>✓</b> Solved: &lt;all&gt;<br>A <em>minus</em>, " in shown
    assert "<code>a &lt; b</code>, <code>2 * a * b</code>, 3 * 4 * 5." in shown


def test_a_terminal_gets_colour_unless_it_wants_none(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    messages.say("wrong", "Stage 1.")
    monkeypatch.setenv("NO_COLOR", "1")
    messages.say("wrong", "Stage 1.")
    assert capsys.readouterr().out == "\x1b[31m✗ Stage 1.\x1b[0m\n✗ Stage 1.\n"


def test_a_class_with_fields_uses_no_name_of_another_cell():
    text = "@dataclass\nclass Named:\n    size: int = 1\n    def __call__(self): return self.size"
    assert source.outside_names(text, ["dataclass"]) == []
    assert source.outside_names(text, []) == ["dataclass"]
