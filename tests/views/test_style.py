import io
import subprocess
import sys

import matplotlib
import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell
from matplotlib.figure import Figure
from PIL import Image

from tlcourse.views import style


def drawn():
    picture, axes = style.figure("The loss falls")
    axes.plot([1, 2, 3], [3, 2, 1])
    return picture


def test_a_figure_is_seven_inches_wide_and_titled():
    picture = style.finish(drawn(), "a falling line", note="Stored run: small.")
    assert isinstance(picture, Figure)
    assert picture.get_figwidth() == 7
    assert picture.get_suptitle() == "The loss falls"
    assert picture.get_supxlabel() == "Stored run: small."


@pytest.mark.parametrize("empty", ["", "  "])
def test_title_and_alt_are_required(empty):
    with pytest.raises(ValueError, match="title"):
        style.figure(empty)
    with pytest.raises(ValueError, match="alt text"):
        style.finish(drawn(), empty)


def test_a_notebook_gets_png_and_alt_text():
    picture = style.finish(drawn(), 'a line\n falling, "steeply"')
    data, metadata = InteractiveShell().display_formatter.format(picture)
    assert data["text/plain"] == 'Figure: a line falling, "steeply"'
    assert metadata["image/png"] == {"alt": 'a line falling, "steeply"', "width": 672}
    assert len(data["image/png"]) < 80_000  # base64 of 60 KB
    assert 'alt="a line falling, &quot;steeply&quot;"' in picture.html()
    picture.alt = "<unk> & 'cat'"
    assert ' alt="&lt;unk&gt; &amp; &#x27;cat&#x27;" ' in picture.html()


def test_the_png_is_small_and_not_empty():
    png = drawn().png()
    image = Image.open(io.BytesIO(png))
    assert image.width == 7 * style.DPI
    assert len(png) < 60_000
    colours = {colour for _, colour in image.convert("RGB").getcolors(1000)}
    assert len(colours) > 5
    assert min(np.abs(np.array(colour) - (0x00, 0x72, 0xB2)).max() for colour in colours) < 5


def test_nothing_is_left_open_in_pyplot():
    code = (
        "import sys; from tlcourse.views import style; picture, _ = style.figure('It');"
        "picture.png(); assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_importing_the_views_loads_nothing_heavy():
    code = (
        "import sys, tlcourse.views; heavy = 'torch scipy IPython ipywidgets matplotlib.pyplot';"
        "found = set(heavy.split()) & set(sys.modules); assert not found, found"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_ink_is_readable():
    assert style.ink_on("#08306B") == "white"
    assert style.ink_on("#F7FBFF") == "black"
    assert style.ink_on(style.COLOURS["yellow"]) == "black"


def test_own_figures_get_the_style():
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        style.use_style()
        assert matplotlib.rcParams["axes.prop_cycle"].by_key()["color"][0] == "#0072B2"


@pytest.mark.parametrize(
    "words", ["The loss falls ", "removing number many random ", "will it tilt ", "WOMAN MMMM "]
)
def test_a_long_title_wraps_and_loses_nothing(words):
    picture, _ = style.figure(words * 6)
    picture.draw_without_rendering()
    assert picture._suptitle.get_window_extent().x1 <= picture.bbox.x1
    assert picture.get_suptitle().split() == (words * 6).split()


def test_the_two_models_keep_their_colours():
    blue, vermillion = style.COLOURS["blue"], style.COLOURS["vermillion"]
    both = style.colours_of(["LSTM", "masked, 20M tokens", "5-gram", "causal"])
    assert (both["masked, 20M tokens"], both["causal"]) == (vermillion, blue)
    assert style.colours_of(["masked", "x", "y"])["masked"] == vermillion
    assert vermillion not in style.colours_of(["causal", "embeddings", "other"]).values()
    assert list(style.colours_of(["a", "b"]).values()) == [blue, vermillion]
    assert len(set(style.colours_of(["causal", "causal, 20M", *"abcde"]).values())) == 7
    with pytest.raises(ValueError, match="at most 7 series, one a colour, got 8"):
        style.colours_of("abcdefgh")


def test_the_width_of_a_text_is_what_is_drawn():
    picture, axes = style.figure("title")
    text = axes.text(0, 0, "responsible words", fontsize=10)
    picture.draw_without_rendering()
    drawn = text.get_window_extent().width / picture.dpi
    assert style.text_width("responsible words", 10) == pytest.approx(drawn, rel=0.05)
    assert style.text_width("  ", 10) == 0


def test_a_token_in_a_title_or_note_is_no_formula():
    picture, _ = style.figure("From $ to $_ and $")
    style.finish(picture, "alt", note="$x$")
    for text in (picture._suptitle, picture._supxlabel):
        assert not text.get_parse_math()
    assert style.text_width("$$", 10) > style.text_width("$", 10) > 0


def test_the_png_has_all_rows_of_an_odd_height():
    picture, axes = style.figure("t", 3.333)
    axes.set_axis_off()
    image = Image.open(io.BytesIO(picture.png()))
    assert image.size == (7 * style.DPI, int(3.333 * style.DPI))
