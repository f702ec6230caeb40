import random
import sys
import threading
import time
import types
import weakref

import numpy as np
import pytest
import torch

from tlcourse.exercises import exercise, hint, machinery, running, solution
from tlcourse.exercises.expect import Wrong, expect_equal, expect_unchanged
from tlcourse.exercises.machinery import Exercise, Stage, all_exercises, check, get


def double(values):
    return [2 * value for value in values]


def double_all_but_one(values):
    """The code to be mended."""
    return [2 * value for value in values[1:]]


class Counter:
    def __init__(self):
        self.count = 0

    def step(self):
        self.count += 1
        return self.count


def _one(candidate):
    expect_equal(expect_unchanged(candidate, [3]), [6], "`[3]`", "Is it doubled?")


def _many(candidate):
    for n in range(4):
        expect_equal(candidate(list(range(n))), list(range(0, 2 * n, 2)), f"{n} numbers")


def _steps(candidate):
    counter = candidate()
    expect_equal([counter.step(), counter.step()], [1, 2], "two steps")


def _six(candidate):
    expect_equal(candidate, 6, "your answer")


EXERCISES = (
    Exercise(
        "toy.double",
        "Double each",
        1,
        2,
        ("multiply.", "by two."),
        double,
        (Stage("one number", _one), Stage("many numbers", _many)),
    ),
    Exercise("toy.counter", "Count", 2, 5, ("keep a count.",), Counter, (Stage("two", _steps),)),
    Exercise(
        "toy.mend",
        "Mend",
        1,
        1,
        ("count them.",),
        double,
        (Stage("one number", _one),),
        given=double_all_but_one,
    ),
    Exercise("toy.six", "Six", 1, 1, ("2 × 3.",), 6, (Stage("six", _six),), source="2 * 3"),
)


@pytest.fixture(autouse=True)
def toy(monkeypatch):
    topic, found = types.SimpleNamespace(EXERCISES=EXERCISES), machinery._topic
    monkeypatch.setattr(machinery, "_topic", lambda name: topic if name == "toy" else found(name))
    monkeypatch.setattr(machinery, "_hints_shown", {})


@pytest.fixture
def short_limit(monkeypatch):
    monkeypatch.setattr(running, "LIMIT", 0.3)


def running_exercises():
    threads = threading.enumerate()  # may still list one that was stopped on its last steps
    return [each for each in threads if each.name == "exercise" and each.is_alive()]


def test_solved_hands_back_the_learners_function(capsys):
    def mine(values):
        return [value + value for value in values]

    assert exercise("toy.double", mine) is mine
    assert capsys.readouterr().out == ("Solved: all 2 stages passed. Yours is used from here on.\n")


def test_wrong_says_stage_and_hint_and_hands_back_the_reference(capsys):
    def only_first(values):
        return [2 * values[0]] if values else []

    assert exercise("toy.double", only_first) is double
    out = capsys.readouterr().out
    assert "Stage 2 of 2, many numbers: 2 numbers gave [0]; expected [0, 2]." in out
    assert "Hint 1 of 2: multiply." in out


def ellipsis_only(values): ...  # your code here


def pass_only(values):
    pass


def docstring_only(values):
    """Doubles."""


def half_given(values):
    doubled = ...
    return doubled


def returns_ellipsis(values):
    return ...


@pytest.mark.parametrize(
    "candidate",
    [ellipsis_only, pass_only, docstring_only, half_given, returns_ellipsis, None, ...],
    ids=lambda each: getattr(each, "__name__", str(each)),
)
def test_nothing_written_yet(candidate, capsys):
    assert check("toy.double", candidate).stage == 0
    assert exercise("toy.double", candidate) is double
    assert capsys.readouterr().out == (
        "Not solved yet, and that is fine: the notebook goes on with the reference.\n"
        "Hint 1 of 2: multiply.\n"
        'hint("toy.double") shows more.\n'
    )


def test_nothing_written_in_a_closure_or_without_source():
    outer = []

    def closure(values):
        """Uses the outside."""
        if False:
            outer.append(1)

    namespace = {}
    exec("def f(values):\n    ...", namespace)
    assert check("toy.double", closure).stage == 0
    assert check("toy.double", namespace["f"]).stage == 0


def test_the_code_to_be_mended_as_it_was_given(capsys):
    def same(values):
        # neither a comment nor a missing docstring makes it another
        return [2 * value for value in values[1:]]

    def changed(values):
        return [3 * value for value in values[1:]]

    assert check("toy.mend", same).stage == 0
    assert exercise("toy.mend", same) is double
    said, first_hint, *_ = capsys.readouterr().out.splitlines()
    assert said.startswith("Not solved yet, this is the code as it was given: the notebook goes on")
    assert first_hint == "Hint 1 of 1: count them."
    assert check("toy.mend", changed).stage == check("toy.mend", print).stage == 1
    assert check("toy.mend", lambda values: [2 * value for value in values[1:]]).stage == 1
    assert check("toy.double", double_all_but_one).stage == 1


def test_an_ellipsis_in_an_index_is_code():
    def by_array(values):
        array = np.array(values, dtype=int)
        array[...] = 2 * array[..., :]
        return array.tolist()

    assert check("toy.double", by_array).passed


def test_a_class():
    class Mine:
        count = 0

        def step(self):
            self.count = self.count + 1
            return self.count

    class Half:
        def __init__(self):
            self.count = 0

        def step(self): ...

    class Broken:
        def __init__(self, start):
            self.count = start

        def step(self):
            return self.count

    assert exercise("toy.counter", Mine) is Mine
    assert check("toy.counter", Half).stage == 0
    assert "TypeError" in check("toy.counter", Broken).message
    assert "expected a class; got 3" in check("toy.counter", 3).message


def test_a_value(capsys):
    assert exercise("toy.six", 6.0) == 6
    assert exercise("toy.six", 7) == 6
    assert "your answer gave 7; expected 6." in capsys.readouterr().out
    assert check("toy.six", None).stage == 0


def test_an_error_names_its_line():
    def divides(values):
        nothing = 0
        return [value / nothing for value in values]

    message = check("toy.double", divides).message
    line = divides.__code__.co_firstlineno + 2
    assert "ZeroDivisionError: division by zero" in message
    assert f"line {line}: `return [value / nothing for value in values]`" in message


def test_an_error_inside_a_library_names_the_learners_line():
    def misuses(values):
        return torch.tensor(values).reshape(7, 7).tolist()

    assert "`return torch.tensor(values).reshape(7, 7).tolist()`" in (
        check("toy.double", misuses).message
    )


def test_the_code_to_be_mended_in_a_cell_of_ipython():
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    shell.run_cell("def mend(values):\n    return [2 * value for value in values[1:]]")
    assert check("toy.mend", shell.user_ns["mend"]).stage == 0


def test_the_line_in_a_cell_of_ipython():
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    shell.run_cell("def f(values):\n    good = 1\n    return undefined_name")
    message = check("toy.double", shell.user_ns["f"]).message
    assert "NameError: name 'undefined_name' is not defined" in message
    assert "line 3: `return undefined_name`" in message


def test_a_wrong_kind_of_value_is_told():
    def none(values):
        values.copy()

    def unlike_anything(values):
        return np.array([[1, 2], [3, 4]])

    assert "gave None (a NoneType); expected [6]" in check("toy.double", none).message
    assert "(a ndarray)" in check("toy.double", unlike_anything).message


def test_an_answer_whose_comparison_raises_is_wrong():
    class Odd:
        def __eq__(self, other):
            raise RuntimeError

        def __repr__(self):
            raise RuntimeError

    def odd(values):
        return Odd()

    assert "a Odd whose repr raises" in check("toy.double", odd).message


def test_changed_arguments_are_told():
    def in_place(values):
        for index in range(len(values)):
            values[index] *= 2
        return values

    report = check("toy.double", in_place)
    assert report.stage == 1
    assert "changed argument 1 that it was given, `values` from [3] to [6]" in report.message


class Rude(BaseException):
    def __str__(self):
        raise ValueError


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), Rude(), RecursionError()])
def test_any_exception_is_caught(error):
    def rude(values):
        raise error

    assert f"your code raised {type(error).__name__}" in check("toy.double", rude).message
    assert exercise("toy.double", rude) is double


def test_endless_recursion():
    def endless(values):
        return endless(values)

    assert "RecursionError" in check("toy.double", endless).message


def test_what_it_prints_is_kept_short(capsys):
    def talks(values):
        print("looking at", values)
        return [2 * value for value in values]

    def shouts(values):
        print("x" * 100_000)
        return values

    exercise("toy.double", talks)
    assert "(Your code printed: looking at [3] ⏎ looking at []" in capsys.readouterr().out
    exercise("toy.double", shouts)
    assert len(capsys.readouterr().out) < 1000


def loops(values):
    while True:
        values = values[:]


def loops_and_catches(values):
    while True:
        try:  # noqa: SIM105
            sorted(range(1000))
        except BaseException:
            pass


def loops_and_prints(values):
    while True:
        print(values)


@pytest.mark.usefixtures("short_limit")
@pytest.mark.parametrize("candidate", [loops, loops_and_catches, loops_and_prints])
def test_an_endless_loop_is_stopped_and_named(candidate):
    report = check("toy.double", candidate)
    assert report.stage == 1
    assert "stopped after 0.3 seconds, in line" in report.message
    assert not running_exercises()


@pytest.mark.usefixtures("short_limit")
def test_a_loop_stopped_in_a_callback_leaves_no_report(monkeypatch):
    reports = []
    monkeypatch.setattr(sys, "unraisablehook", reports.append)

    def loops(values):
        def forgotten(_):  # has no caller to raise to: Python reports what is raised in it
            for _ in range(100):
                pass

        while True:
            counter = Counter()
            watcher = weakref.ref(counter, forgotten)
            del counter  # calls it
            del watcher

    report = check("toy.double", loops)
    assert "stopped after 0.3 seconds" in report.message
    assert not running_exercises()
    assert not reports


@pytest.mark.usefixtures("short_limit")
def test_a_sleeper_does_not_hold_the_notebook(monkeypatch):
    def sleeps(values):
        time.sleep(3)

    monkeypatch.setattr(running, "PATIENCE", 0.2)
    report = check("toy.double", sleeps)
    assert "in line" in report.message and "`time.sleep(3)`" in report.message
    assert "restart the kernel" in report.message
    for thread in running_exercises():
        thread.join()


def test_random_numbers_after_an_exercise_do_not_depend_on_it():
    def seeds(values):
        random.seed(1), np.random.seed(1), torch.manual_seed(1)
        return [2 * value for value in values]

    def draw():
        return random.random(), np.random.rand(), torch.rand(1).item()

    random.seed(5), np.random.seed(5), torch.manual_seed(5)
    expected = draw()
    random.seed(5), np.random.seed(5), torch.manual_seed(5)
    assert check("toy.double", seeds).passed
    assert draw() == expected


def test_hints_can_be_read_again_and_wrong_answers_use_up_none(capsys):
    first = ["Hint 1 of 2: multiply.", 'hint("toy.double") shows more.']
    for _ in range(3):
        exercise("toy.double", lambda values: values)
        assert capsys.readouterr().out.splitlines()[-2:] == first
    both = [first[0], "Hint 2 of 2: by two.", 'solution("toy.double") shows one way.']
    for _ in range(2):
        hint("toy.double")
        assert capsys.readouterr().out.splitlines() == both
    exercise("toy.double", lambda values: values)
    assert capsys.readouterr().out.splitlines()[-3:] == both


def test_solution(capsys):
    solution("toy.double")
    assert "return [2 * value for value in values]" in capsys.readouterr().out
    solution("toy.six")
    assert capsys.readouterr().out == "2 * 3\n"


@pytest.mark.parametrize("id", ["start.unknown", "unknown.topic", "machinery.check", "start", ""])
def test_an_unknown_id_lists_what_there_is(id):
    for function in (hint, solution, get, lambda id: exercise(id, None)):
        with pytest.raises(KeyError, match="start.count_labels"):
            function(id)


@pytest.mark.parametrize("each", all_exercises().values(), ids=lambda each: each.id)
def test_every_exercise_is_well_formed(each, capsys):
    solution(each.id)
    assert len(capsys.readouterr().out) > 10
    assert 1 <= each.minutes <= 60 and len(each.hints) >= 2
    assert check(each.id, each.reference).passed


def test_remarks_are_told_when_all_stages_have_passed(monkeypatch, capsys):
    stages = (Stage("one", lambda _: "Done twice."), Stage("six", _six), Stage("no", lambda _: ""))
    topic = types.SimpleNamespace(EXERCISES=(Exercise("toy.told", "", 1, 1, ("6.",), 6, stages),))
    monkeypatch.setattr(machinery, "_topic", lambda name: topic)
    assert exercise("toy.told", 6.0) == 6.0
    said = "Solved: all 3 stages passed. Done twice. Yours is used from here on.\n"
    assert capsys.readouterr().out == said
    assert check("toy.told", 7).message == "Stage 2 of 3, six: your answer gave 7; expected 6."


def test_an_exercise_without_hints_is_refused():
    with pytest.raises(ValueError, match="at least one hint"):
        Exercise("toy.bad", "Bad", 1, 1, (), double, (Stage("one", _one),))


def test_wrong_is_an_exception_and_not_more():
    assert issubclass(Wrong, Exception)
