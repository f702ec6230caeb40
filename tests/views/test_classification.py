import numpy as np
import pytest

from tlcourse.views import confusion, learning_curve


def test_confusion_is_shaded_by_row_and_shows_counts():
    axes = confusion([[8, 2], [0, 0]], ["HUM", "LOC"], title="t", alt="alt").axes[0]
    assert np.allclose(axes.images[0].get_array(), [[0.8, 0.2], [0, 0]])
    assert [text.get_text() for text in axes.texts] == ["8", "2"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("predicted", "true")
    right = axes.child_axes[0]
    assert [label.get_text() for label in right.get_yticklabels()] == ["80 % of 10", "0 % of 0"]
    with pytest.raises(ValueError, match=r"\(3, 3\) for 3 labels, got \(2, 2\)"):
        confusion([[1, 2], [3, 4]], ["a", "b", "c"], title="t", alt="a")


def test_a_learning_curve_has_ticks_at_label_counts_and_intervals():
    results = {
        "fine-tuned": ([100, 500], [30, 16], [28, 14], [32, 18]),
        "baseline": ([100, 5452], [38, 9], [36, 8], [40, 10]),
    }
    axes = learning_curve(results, title="Transfer wins", alt="alt").axes[0]
    assert axes.get_xscale() == "log"
    assert [label.get_text() for label in axes.get_xticklabels()] == ["100", "500", "5452"]
    assert [text.get_text() for text in axes.texts] == ["fine-tuned", "baseline"]
    assert len(axes.collections) == 2
    assert axes.get_ylabel() == "error (%)"
