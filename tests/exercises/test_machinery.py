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
from tlcourse.exercises.expect import CheckFailed
from tlcourse.exercises.task import Unknown, case

pytestmark = pytest.mark.usefixtures("toy")


def check(id, candidate):
    return checking.check(machinery.get(id), candidate)


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
    assert capsys.readouterr().out == "✓ Solved: all 2 stages passed. Yours is used from here on.\n"


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
        "○ Not solved yet, and that is fine: the notebook goes on with the reference.\n"
        'hint("toy.double") gives a hint, solution("toy.double") shows one way.\n'
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
    said, help = capsys.readouterr().out.splitlines()
    assert said.startswith("○ Not solved yet, this is the code as it was given: the notebook goes")
    assert help == 'hint("toy.mend") gives a hint, solution("toy.mend") shows one way.'
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
    assert "Yours: 3\nExpected: a class" in check("toy.counter", 3).message


def test_a_value(capsys):
    assert exercise("toy.six", 6.0) == 6
    assert exercise("toy.six", 7) == 6
    assert "Check: Your answer.\nYours: 7\nExpected: 6\n" in capsys.readouterr().out
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


def test_arguments_that_it_does_not_take_are_told_with_what_it_was_called_with():
    message = check("bpe.count_pairs", lambda: {}).message
    assert "takes 0 positional arguments but 1 was given\nWhy: Does it take" in message
    assert "Your code, called with number 1 = {('r', 'a', 'n'): 1}." in message


def test_a_wrong_kind_of_value_is_told():
    def none(values):
        values.copy()

    def unlike_anything(values):
        return np.array([[1, 2], [3, 4]])

    assert "Yours: None (a NoneType)\nExpected: [6]" in check("toy.double", none).message
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
    assert "Argument 1, `values`, after the call.\nYours: changed from [3] to [6]" in report.message


class Rude(BaseException):
    def __str__(self):
        raise ValueError


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), Rude(), RecursionError()])
def test_any_exception_is_caught(error):
    def rude(values):
        raise error

    assert f"Yours: raised {type(error).__name__}" in check("toy.double", rude).message
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
    assert "Is there a loop that never ends" in report.message
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


def test_a_hint_without_an_id_is_of_the_exercise_handed_in_last(capsys):
    hint()
    assert "No exercise was handed in yet" in capsys.readouterr().out
    exercise("toy.six", None)
    capsys.readouterr()
    hint()
    assert capsys.readouterr().out.startswith("Hint 1 of 1: 2 × 3.")


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


@pytest.mark.parametrize("id", ["start.unknown", "unknown.topic", "machinery.check", "start", ""])
def test_an_unknown_id_names_the_three_nearest_and_where_all_are(id):
    there = "|".join(machinery.ids())
    said = (
        rf"no exercise '{id}'; did you mean ('({there})'( or |, |\? `tlcourse progress` l)){{3}}ist"
    )
    for function in (machinery.get, lambda id: exercise(id, None), yours):
        with pytest.raises(KeyError, match=said):
            function(id)
    with pytest.raises(Unknown, match="did you mean 'toy.double', '"):
        machinery.get("toy.duoble")


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


def test_a_misspelt_id_is_one_line_in_hint_and_solution(capsys):
    for function in (hint, solution):
        function("toy.duoble")
        said = capsys.readouterr().out
        assert "did you mean 'toy.double', '" in said and said.count("\n") == 1


def test_running_an_unsolved_hand_in_cell_twice_does_not_solve_it(capsys):
    """Where definition and hand-in are two cells, the name holds the reference the second time."""
    answer = exercise("toy.double", double_all_but_one)
    again = exercise("toy.double", answer)
    assert again is answer is double
    said = capsys.readouterr().out.splitlines()[-2]
    assert said.startswith("○ Not solved yet, this is the reference that came back before")
    assert exercise("toy.double", again) is double
    assert "Solved" not in capsys.readouterr().out


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


def test_asking_for_input_is_named_and_does_not_wait():
    def asks(values):
        return [int(input("how many? ")) * value for value in values]

    message = check("toy.double", asks).message
    assert "it asks for input(), but gets all it needs as arguments" in message
    assert "line" in message and "stopped after" not in message


def unwritten_value(values):
    doubled = ...
    return doubled


class UnwrittenAttribute:
    def __init__(self):
        self.count = ...

    def step(self):
        self.count += 1
        return self.count


class WrittenBesideAnEllipsis:
    def __init__(self):
        ...  # your code here
        self.count = 0

    def step(self):
        self.count += 1
        return self.count


def test_what_is_still_an_ellipsis_is_not_written_yet():
    assert check("toy.double", unwritten_value).stage == 0
    assert check("toy.counter", UnwrittenAttribute).stage == 0
    assert check("toy.counter", WrittenBesideAnEllipsis).passed


def test_a_known_mistake_is_told_its_sentence_and_the_one_that_fits_all_probes_first(toy):
    task = toy["toy.double"]
    task.stages.clear()

    @task.stage("twice")
    def twice(candidate):
        task.compare(candidate, "`[0]`", [0], expected=[0])
        task.compare(candidate, "`[2]`", [2], expected=[4], hint="Something else.")

    task.mistakes(("That is one more, not twice as much.", lambda v: [x + 1 for x in v]))
    task.mistakes(("One is lost.", lambda v: [0 for x in v]))
    task.mistakes(("That raises.", lambda v: v[7]))
    for wrong, said in (
        (lambda values: [value**3 - 4 * value for value in values], "One is lost."),
        (lambda values: [value + 1 for value in values], "That is one more, not twice as much."),
        (lambda values: [-value for value in values], "Something else."),
        (lambda values: [values[5]], "That raises."),
    ):
        assert check("toy.double", wrong).message.endswith(said)

    def sometimes(values):  # as the square on the first probe, as one more on the second
        return [value + 1 if value else 0 for value in values]

    assert check("toy.double", sometimes).message.endswith("Something else.")


def test_cases_take_what_they_do_not_say_from_the_stage_and_the_exercise(toy):
    task = toy["toy.double"]
    task.stages.clear()
    task.truth(lambda values: [value + value for value in values])
    task.measure = lambda candidate, values: [float(value) for value in candidate(values)]
    task.tolerance = 0.1
    task.stage(
        "a table",
        case("", [0.5]),
        case("the sum", [1.0], expected=3.0, measure=lambda f, v: sum(f(v)), hint="Its own."),
        hint="The stage's.",
    )
    outside = check("toy.double", lambda values: [2.5 * value for value in values])
    assert outside.message.endswith(
        "Check: `double([0.5])`.\nYours: 1.25 at [0]\nExpected: 1\nWhy: The stage's."
    )
    inside = check("toy.double", lambda values: [2.05 * value for value in values])
    assert inside.message.endswith("Check: The sum.\nYours: 2.05\nExpected: 3\nWhy: Its own.")


def test_a_mistake_of_an_earlier_stage_is_not_told_of_who_has_passed_it(toy):
    task = toy["toy.double"]
    task.stages.clear()
    for name, value in (("one", 1), ("three", 3)):

        @task.stage(name)
        def stage(candidate, value=value):
            likely = f"Twice {value}."
            task.compare(candidate, f"`[{value}]`", [value], expected=[2 * value], hint=likely)

    task.mistakes(("Always five.", lambda values: [5]))
    later = check("toy.double", lambda values: [2] if values == [1] else [5])
    assert later.message.endswith("Check: `[3]`.\nYours: [5]\nExpected: [6]\nWhy: Twice 3.")
    assert check("toy.double", lambda values: [5]).message.endswith("Always five.")


def counted(function, values):
    return f"{len(function(values))} number"


def test_earlier_probes_are_compared_with_mistakes_as_closely_as_with_the_answer(toy):
    task = toy["toy.double"]
    task.stages.clear()

    @task.stage("words, then numbers")
    def both(candidate):
        task.compare(candidate, "the numbers", [2], expected="1 number", measure=counted)
        task.compare(candidate, "`[1]`", [1], expected=[2.0], tolerance=1e-3)
        task.compare(candidate, "`[3]`", [3], expected=[6])

    task.mistakes(("That is five.", lambda v: [5 for x in v]))
    task.mistakes(("That is two more.", lambda v: [x + min(x, 2) for x in v]))
    for wrong, said in (
        (lambda values: [5 for value in values], "That is five."),
        (lambda values: [value + min(value, 2) for value in values], "That is two more."),
        (lambda values: [5 if value == 3 else 2 * value + 1e-5 for value in values], "two more."),
    ):
        assert check("toy.double", wrong).message.endswith(said)


def test_a_tolerance_holds_for_its_own_probe_only(toy):
    task = toy["toy.double"]
    task.stages.clear()

    @task.stage("words, then numbers")
    def words(candidate):
        task.compare(candidate, "`no`", ["no"], expected=["nono"])
        task.compare(candidate, "`[2]`", [2], expected=[4.0], tolerance=1e-6)

    task.mistakes(("One more.", lambda v: [x + (x, 1)[x == 2] for x in v]))
    shifts = check("toy.double", lambda values: [x + ("no" if x == "no" else 1) for x in values])
    assert (
        shifts.message == "Stage 1 of 1: words, then numbers.\nCheck: `[2]`.\nYours: 3 at [0]\n"
        "Expected: 4\nWhy: One more."
    )
    talks = check("toy.double", lambda values: ["nono"] if values == ["no"] else "four")
    assert talks.message.endswith("Check: `[2]`.\nYours: 'four'\nExpected: [4.0]")


def test_an_error_without_a_line_of_the_learners_is_told_what_is_known_of_it(toy):
    task = toy["toy.double"]
    task.stage("none")(lambda candidate: task.compare(candidate, "no numbers", [], expected=[]))
    task.mistakes(("The largest of nothing is asked for.", max))
    task.stages[:2] = []
    message = check("toy.double", max).message
    assert "raised ValueError" in message
    assert "Check: Your code, called with number 1 = []." in message
    assert message.endswith("\nWhy: The largest of nothing is asked for.")


def test_an_error_is_not_laid_to_a_mistake_that_would_have_failed_before(toy):
    task = toy["toy.double"]
    task.stages.clear()

    @task.stage("twice")
    def twice(candidate):
        task.compare(candidate, "`[2]`", [2], expected=[4])
        task.compare(candidate, "`[]`", [], expected=[])

    task.mistakes(("The second is asked for.", lambda values: [values[1]]))
    task.mistakes(("The first is asked for.", lambda values: [2 * values[0]]))
    first = check("toy.double", lambda values: [values[0] + values[0]])
    assert first.message.endswith("\nWhy: The first is asked for.")
    task.catalogue.pop()
    first = check("toy.double", lambda values: [values[0] + values[0]])
    assert "Check: Your code, called with values = []." in first.message
    assert "Why" not in first.message


def test_a_notebook_shows_a_mark_and_a_colour():
    said = messages.Said("solved", ["Solved: <all>", "Kept, `a < b`."])
    assert repr(said) == "✓ Solved: <all>\nKept, `a < b`."
    shown = said._repr_html_()
    assert (
        "#009E73" in shown
        and "<b>✓</b> Solved: &lt;all&gt;<br>Kept, <code>a &lt; b</code>." in shown
    )


def test_a_notebook_stresses_a_word_between_stars_but_not_in_code():
    shown = messages.Said("hint", ["A *minus* here, `2 * a * b` and 3 * 4 * 5."])._repr_html_()
    assert "A <em>minus</em> here, <code>2 * a * b</code> and 3 * 4 * 5." in shown


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


def test_wrong_is_an_exception_and_not_more():
    assert issubclass(CheckFailed, Exception)
