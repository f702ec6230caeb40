"""Slides: what becomes one follows from the form of the cells; the file needs nothing else."""

import re
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tests.lessons.test_export import PIXEL, asked_for
from tlcourse.cli import main
from tlcourse.lessons import deck, every, slides

OPENING = """# 02 · A lesson

What is *it*?

**You build:** a model

**The question:** how does it read?

**You will be able to:**

- read;
- write.

**You need:** nothing"""
FIRST = """## 2.1 One *(core, 20 minutes)*

Prose for the notes.

$$x^2$$

**Predict:** how many?

- one
- two"""
SEEN = """<details><summary><b>What we see</b></summary>

Two, because $a < b$.
</details>

<details><summary><b>Fine print</b></summary>

Not always.
</details>

#### Exercise 2.1 · attention · difficulty 2 of 5 · importance 5 of 5 · 10 minutes

Write `attention`.

- with a mask"""
GIVEN = """def attention(query, key, value, mask=None):
    ...  # your code here


attention = exercise("transformer.attention", attention)"""
CLOSING = """## Summary

- **It** reads.

## References

- Vaswani et al. (2017)"""


def sections_of(folder: Path, *cells: object, **options: bool) -> list[slides.Section]:
    path = folder / "mine.ipynb"
    nbformat.write(new_notebook(cells=[new_markdown_cell(OPENING), *cells]), path)
    return slides.of(path, **options)


def kinds(sections: list[slides.Section]) -> list[str]:
    return [slide.kind for section in sections for slide in section.slides]


def text_of(content: str) -> str:
    return " ".join(BeautifulSoup(content, features="html.parser").get_text().split())


def figure(alt: str = "A line.") -> object:
    metadata = {"image/png": {"alt": alt}}
    return new_output("display_data", {"image/png": PIXEL}, metadata=metadata)


def printed(text: str) -> object:
    return new_output("stream", name="stdout", text=text)


def test_each_form_of_a_cell_becomes_its_kind_of_slide(tmp_path) -> None:
    plot = new_code_cell("draw(1)", outputs=[figure()])
    cells = [new_markdown_cell(FIRST), plot, new_markdown_cell(SEEN), new_code_cell(GIVEN)]
    opening, one, summary = sections_of(tmp_path, *cells, new_markdown_cell(CLOSING))
    assert [slide.kind for slide in opening.slides] == ["title", "text", "text"]
    assert opening.slides[0].content.startswith("<h1>02 · A lesson</h1>")
    assert text_of(opening.slides[0].content).endswith("How does it read?")
    assert text_of(opening.slides[1].content) == "What is it?"
    assert (opening.slides[2].heading, text_of(opening.slides[2].content)) == (
        "You will be able to",
        "read; write.",
    )
    assert (one.title, one.depth, one.minutes) == ("2.1 One", "core", 20)
    divider, formula, ask, picture, answer, exercise, solution = one.slides
    assert divider.content.startswith("<h2>2.1 One</h2>")
    assert formula.kind == "formula" and "<math" in formula.content
    assert text_of(formula.notes) == "Prose for the notes."
    assert ask.kind == "ask" and text_of(ask.content) == "Predict: how many? one two"
    assert picture.kind == "figure" and 'alt="A line."' in picture.content
    assert "draw(1)" in picture.notes
    asked, seen = BeautifulSoup(answer.content, features="html.parser").find_all("div")
    assert asked.get_text().startswith("Predict") and seen["class"] == ["fragment"]
    assert seen.get_text().startswith("Two, because")
    assert text_of(exercise.content).endswith("10 minutesWrite attention. with a mask")
    assert "Not always." in exercise.notes and "What we see" not in answer.content
    assert "softmax" in solution.content and "For the lecturer" in solution.heading
    assert kinds([summary]) == ["text"] and "Vaswani" not in summary.slides[0].content


def test_solutions_can_be_left_out(tmp_path) -> None:
    cells = [new_markdown_cell(FIRST), new_code_cell(GIVEN)]
    shown = kinds(sections_of(tmp_path, *cells))
    without = kinds(sections_of(tmp_path, *cells, solutions=False))
    assert shown[-1] == "code solution" and without == shown[:-1]


LONG = """def attention(query, key):
    \"\"\"Compares.

    In detail.
    \"\"\"
    scores = query @ key.T
    return scores


class Block:
    def forward(self, x):
        return x


first = attention(1, 2)
second = attention(2, 3)"""


def test_code_is_shown_while_it_is_short_and_outputs_are_cut(tmp_path) -> None:
    many = "\n".join(map(str, range(40)))
    short = new_code_cell("x = 1\nx", outputs=[printed("1\n")])
    cells = [short, new_code_cell(LONG, outputs=[printed(many)]), new_code_cell("y = 2")]
    (opening,) = sections_of(tmp_path, *cells)
    together, signatures, output, alone = opening.slides[3:]
    assert text_of(together.content) == "x = 1 x 1"
    assert text_of(signatures.content) == (
        'def attention(query, key): """Compares.""" ... class Block: def forward(self, x): ...'
    )
    assert "scores = query" in signatures.notes
    assert text_of(output.content).endswith("13 14 …")
    assert text_of(alone.content) == "y = 2"


def test_a_tag_overrules_the_form(tmp_path) -> None:
    shown = new_markdown_cell("Said on a slide.", metadata={"tags": ["slide"]})
    hidden = new_code_cell("x", outputs=[figure()], metadata={"tags": ["no-slide"]})
    (opening,) = sections_of(tmp_path, shown, hidden)
    assert kinds([opening]) == ["title", "text", "text", "text"]
    assert text_of(opening.slides[3].content) == "Said on a slide."


def section(title: str, depth: str, minutes: int) -> slides.Section:
    return slides.Section(title, depth, minutes, [slides.Slide("text", title)])


PLAN = [
    section("", "", 0),
    section("1", "core", 20),
    section("2", "deeper", 10),
    section("3", "core", 30),
    section("4", "core", 5),
    section("5", "core", 15),
    section("Summary", "", 0),
]


@pytest.mark.parametrize(
    ("minutes", "chosen"),
    [(70, "1345"), (69, "135"), (65, "135"), (64, "15"), (35, "15")],
)
def test_a_plan_keeps_the_last_core_section_and_what_fits_before_it(minutes, chosen) -> None:
    shown, left_out = slides.within(PLAN, minutes)
    assert "".join(s.title for s in shown) == f"{chosen}Summary"
    assert [s for s in PLAN if s not in shown] == left_out
    assert sum(s.minutes for s in shown) <= minutes


def test_a_plan_that_is_too_short_says_how_long_it_must_be() -> None:
    with pytest.raises(ValueError, match="at least 35 minutes for this lesson, got 34"):
        slides.within(PLAN, 34)
    with pytest.raises(ValueError, match="all of this one is deeper"):
        slides.within([section("2", "deeper", 10)], 90)


def test_named_sections_are_shown_with_opening_and_closing() -> None:
    shown, left_out = slides.chosen(PLAN, ["2", "4"])
    assert "".join(s.title for s in shown) == "24Summary" and shown[0] is PLAN[0]
    assert "".join(s.title for s in left_out) == "135"


def test_a_section_that_the_lesson_lacks_is_named() -> None:
    with pytest.raises(ValueError, match="of 1, 2, 3, 4, 5, got '9'"):
        slides.chosen(PLAN, ["1", "9"])


@pytest.mark.parametrize("lesson", every(), ids=lambda lesson: lesson.id)
def test_every_lesson_is_a_file_that_asks_for_nothing(lesson) -> None:
    sections = slides.of(lesson.path)
    page = BeautifulSoup(deck.to_html(sections, lesson.name), features="html.parser")
    assert asked_for(page) == []
    assert all(picture.get("alt") for picture in page.select("img"))
    found = page.select("section")
    assert len(found) == sum(len(section.slides) for section in sections) > 30
    for part in page.select("code, pre, script, style"):
        part.extract()
    assert not re.search(r"\$|\\|\*\*", page.body.get_text())


def test_the_command_writes_the_slides_that_fit(tmp_path, capsys) -> None:
    out = tmp_path / "02.html"
    assert main(["slides", "02", "--minutes", "90", "--out", str(out), "--no-solutions"]) == 0
    *left_out, wrote = capsys.readouterr().out.splitlines()
    assert left_out and all(re.match(r"left out: 2\.\d .* minutes\)$", line) for line in left_out)
    count = out.read_text(encoding="utf-8").count("<section ")
    assert wrote.startswith(f"wrote {out}, {count} slides")
    assert "For the lecturer" not in out.read_text(encoding="utf-8")
