"""The page to show to others."""

from dataclasses import replace

import pytest
from bs4 import BeautifulSoup

from tlcourse.exercises.keeping import Found
from tlcourse.milestones import write_page


@pytest.fixture
def page(results, tmp_path) -> BeautifulSoup:
    write_page(tmp_path / "new" / "milestone.html", results)
    text = (tmp_path / "new" / "milestone.html").read_text(encoding="utf-8")
    return BeautifulSoup(text, "html.parser")


def test_it_shows_every_demonstration_with_its_figure_and_alt_text(page, results) -> None:
    sections = page.select("section")
    assert len(sections) == len(results) == 6
    for section, tile, result in zip(sections, page.select(".tiles a"), results, strict=True):
        assert section.h2.text == f"My {result.demonstration.name}"
        assert section.img["alt"] == result.shown.figure.alt != ""
        assert section.img["src"].startswith("data:image/png;base64,")
        assert result.shown.says.replace("`", "") in section.figcaption.text
        assert tile["href"] == f"#{section['id']}" and tile.b.text == result.shown.number


def test_it_counts_the_learners_lines_and_dates(page, results) -> None:
    for section, result in zip(page.select("section"), results, strict=True):
        rows = [[cell.text for cell in row.select("td")] for row in section.select("tr")[1:]]
        assert len(rows) == len(result.pieces) and {row[2] for row in rows} == {"2026-01-05"}
        assert f"{len(rows)} parts, {sum(int(row[1]) for row in rows)} lines" in section.text
    merge_pair = page.select("section")[0].select("tr")[1]
    text = results[0].pieces["bpe.merge_pair"].kept.text
    lines = len([line for line in text.splitlines() if line.strip()])
    assert [cell.text for cell in merge_pair.select("td")][:2] == ["Merge one pair", str(lines)]
    whole = {id: found for result in results for id, found in result.pieces.items()}
    assert f"I wrote these {len(whole)} parts myself" in " ".join(page.header.text.split())


def test_it_loads_nothing_and_suits_a_phone(page) -> None:
    assert page.select("script, link, iframe") == []
    assert "default-src 'none'" in page.select_one("meta[http-equiv]")["content"]
    assert page.select_one("meta[name=viewport]")["content"].startswith("width=device-width")
    assert page.html["lang"] == "en"
    style = page.style.text
    assert "prefers-color-scheme: dark" in style and "@media print" in style


def test_it_is_not_written_unless_all_is_own_and_passed(results, tmp_path) -> None:
    path = tmp_path / "milestone.html"
    part = {**results[0].pieces, "bpe.merge_pair": Found(None)}
    for wrong in (replace(results[0], pieces=part), replace(results[0], shown=None)):
        with pytest.raises(ValueError, match="got 5 of 6; `tlcourse milestone` says"):
            write_page(path, [wrong, *results[1:]])
    assert not path.exists()
