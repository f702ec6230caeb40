from tests.views.drawn import arrows_of, edged, nothing_overlaps, refused, said
from tlcourse.views import sentence_scores, three_autoencoders


def title_of(picture):
    return " ".join(picture.get_suptitle().split())


def test_only_the_denoising_autoencoder_reads_something_else():
    picture = three_autoencoders("a dull movie with weak acting", "a movie dull weak acting")
    assert said(picture).count("a dull movie with weak acting") == 5
    assert said(picture).count("a movie dull weak acting") == 1
    assert len(edged(picture, "vermillion")) == 1 and len(edged(picture, "blue")) == 3
    assert len([arrow for arrow in arrows_of(picture) if arrow.arrow_patch]) == 12
    assert "reads “a movie dull weak acting”" in picture.alt
    nothing_overlaps(picture)


def test_the_title_names_the_method_that_is_best_on_every_task():
    low, high = (0.4, 0.35, 0.45), (0.6, 0.55, 0.65)
    rows = {"mean": {"STS-B": low, "TREC": low}, "MiniLM": {"STS-B": high, "TREC": high}}
    picture = sentence_scores(rows)
    assert title_of(picture) == "MiniLM is best on all 2 tasks"
    assert picture.alt == "mean: STS-B 0.4, TREC 0.4; MiniLM: STS-B 0.6, TREC 0.6."
    assert [axes.get_xlabel() for axes in picture.axes] == ["STS-B", "TREC"]
    mixed = {"mean": {"STS-B": high, "TREC": low}, "MiniLM": {"STS-B": low, "TREC": high}}
    assert title_of(sentence_scores(mixed)) == "What vectors of sentences know, by task"
    refused("at least one row with a score", sentence_scores, {})


def test_a_method_may_lack_a_task():
    one = (0.4, 0.35, 0.45)
    picture = sentence_scores({"mean": {"STS-B": one, "TREC": one}, "MiniLM": {"TREC": one}})
    assert [len(axes.lines) for axes in picture.axes] == [1, 2]
