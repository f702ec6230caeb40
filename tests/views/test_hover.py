import base64
import html
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell

from tlcourse import files
from tlcourse.views import heat_map, hover
from tlcourse.views.style import CYCLE

HERE = Path(__file__).parent
VIEWS = files.PACKAGE / "views"
TEXTS = {"title": "Where it looks", "alt": "Lines between tokens."}
HOSTILE = [
    "<script>window.hacked = 1</script>",
    "</script><img src=x onerror=alert(1)>",
    "<!--<script>",
    '"quo\'te" & &lt;',
    "🦙",
    "مرحبا",
    "e\u0301\u0302",
    "\u2028\ud800",
]


class Page(HTMLParser):
    """The tags of a page in order, the texts of its scripts, and the frame's own page."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.scripts, self.frame = [], [], None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag == "script":
            self.scripts.append("")
        if tag == "iframe":
            self.frame = dict(attributes)

    def handle_data(self, text):
        if self.tags and self.tags[-1] == "script":
            self.scripts[-1] += text


def attention(tokens, layers=2, heads=3, seed=0):
    draw = np.random.default_rng(seed)
    return draw.dirichlet(np.full(tokens, 0.3), (layers, heads, tokens))


def data_of(live):
    return json.loads(Page(live.page).scripts[0])


@pytest.fixture
def on(monkeypatch):
    monkeypatch.delenv("TLCOURSE_WIDGETS", raising=False)


def test_the_page_holds_the_weights_to_half_a_step():
    weights = attention(5)
    weights[0, 0, 0] = [0, 1, 0, 0, 0]
    data = data_of(hover(weights, list("abcde"), **TEXTS))
    steps = np.frombuffer(base64.b64decode(data["weights"]), np.uint8)
    found = steps.reshape(weights.shape) / 255
    assert np.abs(found - weights).max() <= 0.5 / 255 + 1e-7
    assert found[0, 0, 0].tolist() == [0, 1, 0, 0, 0]
    assert (data["layers"], data["heads"]) == (2, 3)
    assert data["first"] == {"layer": 0, "on": [0, 1, 2]}
    assert "1/255" in data["note"]


def test_queries_and_keys_may_differ_and_one_head_come_first():
    weights = np.full((2, 2, 2, 3), 1 / 3)
    live = hover(weights, ["a", "b"], keys=["x", "y", "z"], head=(1, 0), marks=[1], **TEXTS)
    data = data_of(live)
    assert (data["queries"], data["keys"]) == (["a", "b"], ["x", "y", "z"])
    assert (data["first"], data["marks"]) == ({"layer": 1, "on": [0]}, [1])


def test_tokens_come_back_as_they_were_and_make_no_tag():
    tame = Page(hover(attention(8), list("abcdefgh"), **TEXTS).page)
    live = hover(attention(8), HOSTILE, title=HOSTILE[1], alt=HOSTILE[3], note=HOSTILE[0])
    page = Page(live.page)
    assert page.tags == tame.tags
    assert page.tags.count("script") == len(page.scripts) == 2
    assert "<" not in page.scripts[0] and page.scripts[1] == tame.scripts[1]
    data = data_of(live)
    assert data["queries"] == HOSTILE and data["title"] == HOSTILE[1]
    assert data["note"].startswith(HOSTILE[0])
    live.page.replace("\\ud800", "").encode("utf-8")  # can be written


def test_the_page_asks_for_nothing_from_outside():
    page = hover(attention(3), list("abc"), **TEXTS).page
    assert re.findall(r"https?:[^\"'\s]*", page) == ["http://www.w3.org/2000/svg"]  # a name
    assert not re.search(r"\b(?:src|href)\s*=|@import|url\(|\bfetch\(|\bimport\(", page)
    policy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'"
    assert f'<meta http-equiv="Content-Security-Policy" content="{policy}">' in page
    assert page.index("Content-Security-Policy") < page.index("<style>") < page.index("<script")


@pytest.mark.usefixtures("on")
def test_a_notebook_gets_a_sandboxed_frame():
    live = hover(attention(3), ["a", '"', "&lt;"], title="Where", alt='Lines & "words"')
    data, _ = InteractiveShell().display_formatter.format(live)
    outside = Page(data["text/html"])
    assert outside.tags == ["iframe"]
    assert outside.frame["sandbox"] == "allow-scripts"
    assert outside.frame["title"] == 'Lines & "words"'
    assert outside.frame["srcdoc"] == live.page
    assert data["text/plain"] == 'Live view: Lines & "words"'
    assert "image/png" not in data


def test_without_widgets_a_notebook_gets_the_figure():
    live = hover(attention(3), list("abc"), title="Where", alt="Lines.", head=(1, 2))
    data, metadata = InteractiveShell().display_formatter.format(live)
    assert set(data) == {"image/png", "text/plain"}
    assert metadata["image/png"]["alt"] == "Lines."
    shown = live.picture.axes[0].images[0].get_array()
    wanted = heat_map(attention(3)[1, 2], list("abc"), title="Where", alt="Lines.")
    np.testing.assert_allclose(shown, wanted.axes[0].images[0].get_array(), rtol=1e-6)


def test_sizes_stay_within_their_limits():
    tokens = [f"token {number}" for number in range(128)]
    assert len(hover(attention(32, 6, 4), tokens[:32], **TEXTS).html()) < 150_000
    assert len(hover(attention(128, 6, 4), tokens, limit=None, **TEXTS).page) < 1_000_000
    with pytest.raises(ValueError, match=r"at most 32 tokens.* got 33; .*limit=None"):
        hover(attention(33, 1, 1), tokens[:33], **TEXTS)
    with pytest.raises(ValueError, match=r"at most 150 KB.* got \d+ KB; .*limit=None"):
        hover(attention(32, 12, 12), tokens[:32], **TEXTS)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (
            {"weights": np.full((2, 3, 3), 0.2)},
            r"\(layers, heads, queries, keys\).* got shape \(2, 3, 3\)",
        ),
        ({"tokens": ["a", "b"]}, r"\(layers, heads, 2, 2\), got shape \(2, 3, 3, 3\)"),
        ({"weights": attention(3) - 0.5}, "from 0 to 1, got -0"),
        ({"weights": attention(3) * np.nan}, "from 0 to 1, got nan"),
        ({"head": (2, 0)}, r"below \(2, 3\).*got \(2, 0\)"),
        ({"marks": [3]}, r"from 0 to 2.*got \[3\]"),
        ({"title": " "}, "title"),
        ({"alt": ""}, "alt text"),
    ],
)
def test_what_does_not_fit_is_an_error_of_one_line(changed, said):
    given = {"weights": attention(3), "tokens": list("abc"), **TEXTS} | changed
    with pytest.raises(ValueError, match=said) as error:
        hover(given.pop("weights"), given.pop("tokens"), **given)
    assert "\n" not in str(error.value)


def test_saves_the_page_as_a_file(tmp_path):
    live = hover(attention(3), ["é", "🦙", "c"], **TEXTS)
    live.save(tmp_path / "folder" / "attention.html")
    assert (tmp_path / "folder" / "attention.html").read_text(encoding="utf-8") == live.page
    assert html.escape(live.page) in live.html()


def test_heads_have_the_colours_of_all_figures():
    style = (VIEWS / "attention.css").read_text(encoding="utf-8").split("@media")[0]
    found = re.findall(r"--colour-(\d): (#\w+);", style)
    assert found == [(str(number), colour.lower()) for number, colour in enumerate(CYCLE)]
    assert f"const COLOURS = {len(CYCLE)};" in (VIEWS / "attention.js").read_text(encoding="utf-8")


def test_the_pure_functions_of_the_script():
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs node")
    result = subprocess.run(
        [node, "--test", HERE / "attention_test.mjs"], capture_output=True, encoding="utf-8"
    )
    assert result.returncode == 0, result.stdout
    assert re.search(r"^# pass [1-9]", result.stdout, flags=re.MULTILINE)
