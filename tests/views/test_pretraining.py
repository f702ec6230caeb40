import IPython.display
import numpy as np
import pytest

from tlcourse.views import (
    COLOURS,
    LiveCurve,
    long_and_short,
    over_tokens_and_targets,
    seen_and_asked,
    smooth,
)


@pytest.fixture
def shown(monkeypatch):
    """What was displayed, and how often it was redrawn."""
    pictures = []

    class Handle:
        def update(self, picture):
            pictures.append(picture)

    def display(picture, display_id):
        pictures.append(picture)
        return Handle()

    monkeypatch.setattr(IPython.display, "display", display)
    return pictures


def history(steps: int) -> list[dict]:
    return [{"step": step, "loss": 9.0 - step} for step in range(steps)]


def test_smooth_is_the_mean_of_the_last_values():
    assert smooth([4, 2, 6, 0], 2).tolist() == [4, 3, 4, 3]
    assert smooth([4, 2, 6, 0], 1).tolist() == [4, 2, 6, 0]
    assert smooth([4, 2, 6, 0], 9).tolist() == pytest.approx([4, 3, 4, 3])


def test_without_widgets_the_curve_is_drawn_once_at_the_end(shown, monkeypatch):
    monkeypatch.setenv("TLCOURSE_WIDGETS", "off")
    watch = LiveCurve("causal", steps=4, tokens_a_step=10, every=0)
    for record in history(4):
        assert not shown
        watch(record)
    assert len(shown) == 1
    assert shown[0].alt == "causal: from 9.00 to 6.00 nats per target in 40 tokens"


def test_with_widgets_it_is_redrawn_in_its_place(shown, monkeypatch):
    monkeypatch.setenv("TLCOURSE_WIDGETS", "on")
    watch = LiveCurve("masked", 3, 10, against={"causal": history(3)}, every=0)
    for record in history(3):
        watch(record)
    assert len(shown) == 3
    names = {line.get_label() for line in shown[-1].axes[0].lines}
    assert {"masked", "causal"} <= names


def test_the_curve_is_over_tokens(shown):
    watch = LiveCurve("causal", 5, 100)
    for record in history(5):
        watch(record)
    (line,) = shown[-1].axes[0].lines
    assert line.get_xdata().tolist() == [100, 200, 300, 400, 500]
    assert line.get_ydata().tolist() == [9, 8, 7, 6, 5]


def test_a_run_that_goes_on_from_another_lies_on_its_line(shown):
    whole = [{"step": step, "loss": (9.0, 2.0, 5.0)[step % 3]} for step in range(60)]
    watch = LiveCurve("the engine", 60, 10, against={"your loop": whole})
    for record in whole[31:]:
        watch(record)
    yours, engine = (line.get_ydata() for line in shown[-1].axes[0].lines[:2])
    assert len(yours) == 60 and engine.tolist() == pytest.approx(yours[31:].tolist())


def test_targets_are_drawn_where_something_is_asked():
    rows = {"masked": (["a", "<mask>", "c"], [None, "b", None])}
    picture = seen_and_asked(rows, title="One of three is asked", alt="A row of boxes")
    words = [text.get_text() for text in picture.axes[0].texts]
    assert sorted(words) == sorted(["masked", "a", "<mask>", "c", "b"])
    with pytest.raises(ValueError, match="got 2 tokens and 1 targets for 'x'"):
        seen_and_asked({"x": (["a", "b"], [None])}, title="Title", alt="Alt")


def test_long_and_short_runs_share_a_logarithmic_axis():
    long = {"one": ([1e4, 1e6], [7, 4]), "two": ([1e4, 1e6], [8, 6])}
    picture = long_and_short(long, {"live": ([1e3, 2e4], [9, 7])}, title="Title", alt="Alt")
    axes = picture.axes[0]
    assert axes.get_xscale() == "log"
    assert np.all(np.array(axes.get_xlim()) == [*sorted(axes.get_xlim())])
    assert axes.get_xlim()[0] < 1e3 < 1e6 <= axes.get_xlim()[1]
    assert {"one", "two", "live"} <= {text.get_text() for text in axes.texts}


def test_one_long_run_alone_has_its_name_too():
    picture = long_and_short({"one": ([1e4, 1e6], [7, 4])}, {}, title="Title", alt="Alt")
    assert [text.get_text() for text in picture.axes[0].texts] == ["one"]


RUNS = {"1M": ([1e12, 2e12], [6.0, 5.5]), "2M": ([2e12, 4e12], [5.8, 5.2])}


def test_a_loss_that_is_watched_is_the_same_and_is_drawn(shown, monkeypatch):
    monkeypatch.setenv("TLCOURSE_WIDGETS", "off")
    watch = LiveCurve("yours", 2, 10)
    loss = watch.watching(lambda model, batch: (np.float64(model * batch), 4))
    assert [loss(2.0, 6.0), loss(2.0, 4.0)] == [(12.0, 4), (8.0, 4)]
    assert shown[0].alt == "yours: from 3.00 to 2.00 nats per target in 20 tokens"


def test_losses_are_drawn_over_tokens_and_over_targets():
    runs = {"masked": ([10, 20], [2, 3], [9, 8]), "causal": ([10, 20], [10, 20], [9, 7])}
    picture = over_tokens_and_targets(runs, title="A title.", alt="An alt text.")
    for place, axes in enumerate(picture.axes):
        drawn = [(list(line.get_xdata()), list(line.get_ydata())) for line in axes.lines]
        assert drawn == [(run[place], run[2]) for run in runs.values()]
        assert [line.get_color() for line in axes.lines] == [
            COLOURS["vermillion"],
            COLOURS["blue"],
        ]
    assert {text.get_text() for text in picture.axes[1].texts} == set(runs)
    with pytest.raises(ValueError, match="of the same steps for 'x'"):
        over_tokens_and_targets({"x": ([1], [1, 2], [3])}, title="A title.", alt="An alt text.")
