import numpy as np
import pytest

from tlcourse.views import confusion


def test_confusion_is_shaded_by_row_and_shows_counts():
    axes = confusion([[8, 2], [0, 0]], ["HUM", "LOC"], title="t", alt="alt").axes[0]
    assert np.allclose(axes.images[0].get_array(), [[0.8, 0.2], [0, 0]])
    assert [text.get_text() for text in axes.texts] == ["8", "2"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("predicted", "true")
    right = axes.child_axes[0]
    assert [label.get_text() for label in right.get_yticklabels()] == ["80 % of 10", "0 % of 0"]
    with pytest.raises(ValueError, match=r"\(3, 3\) for 3 labels, got \(2, 2\)"):
        confusion([[1, 2], [3, 4]], ["a", "b", "c"], title="t", alt="a")
