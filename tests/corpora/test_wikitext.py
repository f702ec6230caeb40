"""Articles from lines."""

import pytest

from tlcourse.corpora.wikitext import articles_of, canonical

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
    assert whales.splitlines()[:3] == [" = Whales =", "", " Whales swim ."]
    assert "\n\n = = Size = =\n\n They" in whales and whales.endswith("\n = 5 =\n\n kg .\n")
    assert owls == " = Owls =\n\n Owls fly .\n\n = A reference =\n by <unk> .\n"


def test_text_before_the_first_title_is_kept() -> None:
    assert list(articles_of([" loose . \n", *TWO]))[0] == " loose .\n"


def test_titles_of_the_stand_in_have_no_blank_line_after() -> None:
    lines = [
        "",
        " = A = \n",
        " Text . \n",
        "",
        " = = S = = \n",
        " More . \n",
        "",
        "",
        " = B = \n",
        " b \n",
    ]
    assert list(articles_of(lines, blank_after=False)) == [
        " = A =\n Text .\n\n = = S = =\n More .\n",
        " = B =\n b\n",
    ]


@pytest.mark.parametrize("lines", [[], ["", " \n"]])
def test_nothing_is_no_article(lines: list[str]) -> None:
    assert list(articles_of(lines)) == []


def test_nothing_but_blank_lines_is_lost() -> None:
    words = [word for line in TWO for word in line.split()]
    assert " ".join(articles_of(TWO)).split() == words


def test_rows_are_those_of_the_hub() -> None:
    assert [canonical(line) for line in (" \n", "\n", " a \n")] == ["", "", " a \n"]
