"""Articles from lines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tlcourse.corpora.wikitext import articles_of, canonical, wikitext

TWO = [
    " \n",
    " = Whales = \n",
    " \n",
    " Whales swim . \n",
    " \n",
    " = = Size = = \n",
    " \n",
    " They are large ( x \n",
    " = 7 / 2 ) and the mass ( m \n",
    " = 5 = \n",
    " \n",
    " kg . \n",
    " \n",
    " = Owls = \n",
    " \n",
    " Owls fly . \n",
    " \n",
    " = A reference = \n",
    " by <unk> . \n",
]


def test_articles_start_at_titles_only() -> None:
    whales, owls = articles_of(TWO)
    assert whales.startswith("\n = Whales =\n\n Whales swim .\n\n = = Size = =\n\n They")
    assert whales.endswith("\n = 5 =\n\n kg .\n\n")
    assert owls == " = Owls =\n\n Owls fly .\n\n = A reference =\n by <unk> .\n"


def test_titles_of_the_stand_in_have_no_blank_line_after() -> None:
    lines = ["", " = A =", " Text .", "", " = = S = =", " More .", "", "", " = B =", " b"]
    assert list(articles_of(lines, blank_after=False)) == [
        "\n = A =\n Text .\n\n = = S = =\n More .\n\n\n",
        " = B =\n b\n",
    ]


@pytest.mark.parametrize("lines", [[], ["", " \n"]])
def test_nothing_is_no_article(lines: list[str]) -> None:
    assert list(articles_of(lines)) == []


@given(st.lists(st.sampled_from([" = A = \n", " = = S = = \n", " word \n", " \n", ""])))
def test_articles_are_the_whole_text(lines: list[str]) -> None:
    """So words plus line ends can be counted on them."""
    expected = "".join(line.rstrip() + "\n" for line in lines)
    assert "".join(articles_of(lines)) == (expected if expected.strip() else "")


def test_rows_are_those_of_the_hub() -> None:
    assert [canonical(line) for line in (" \n", "\n", " a \n")] == ["", "", " a \n"]


def test_what_a_data_set_says_of_itself_stands_above_the_form():
    assert wikitext("x", {}, {}).licence == "CC BY-SA 3.0"
    assert wikitext("x", {}, {}, licence="CC0").licence == "CC0"
