import pytest

from tests.views.drawn import (
    arrows_of,
    edged,
    nothing_overlaps,
    refused,
    row_names,
    said,
    title_of,
    titles_of,
    words_in,
)
from tlcourse import history
from tlcourse.views import (
    encoder_errors,
    errors_by_stage,
    four_ways,
    frozen_states,
    layer_rates,
    lstm_step,
    order_by_distance,
    scores_over_years,
    seeds_of_models,
    sentence_scores,
    sizes_over_years,
    three_autoencoders,
    time_by_length,
    two_directions,
    ulmfit_stages,
)

ENCODERS = ("bag of words", "CNN", "BiLSTM", "attention")


def test_four_ways_have_an_arrow_for_each_way_that_a_word_takes():
    words = ["not", "good", ",", "bad"]
    picture = four_ways(words)
    bag, windows, chain, pairs = 4, 3 * 2 + 3, 4 + 3, 4 * 4
    arrows = [each for each in arrows_of(picture) if each.arrow_patch is not None]
    assert len(arrows) == bag + windows + chain + pairs
    assert len(edged(picture, "vermillion")) == 3, "a filter for each window"
    assert "not good , bad four times" in picture.alt
    nothing_overlaps(picture)
    refused("a window of 1 to all of a few short words", four_ways, words, window=5)
    refused("a window of 1 to all of a few short words", four_ways, ["extraordinarily"] * 3)


def test_the_title_says_that_a_cnn_needs_a_shared_window_only_if_it_does():
    found = {name: [1.0, 1.0] for name in ENCODERS}
    found |= {"bag of words": [0.5, 0.5], "CNN": [1.0, 0.5]}
    picture = order_by_distance(found, [0, 12])
    assert title_of(picture) == "A CNN knows the order only of words that share a window"
    assert "CNN: 100, 50" in picture.alt and "chance" in words_in(picture.axes[0])
    for changed in ({"CNN": [1.0, 0.9]}, {"bag of words": [0.9, 0.5]}, {"attention": [1.0, 0.8]}):
        other = order_by_distance(found | changed, [0, 12])
        assert title_of(other) == "Which of two words comes last?"


def error_rows(pretrained):
    def row(task, encoder, mean, shuffled=None):
        score = None if shuffled is None else {"mean": shuffled, "interval": [shuffled, shuffled]}
        return {
            "task": task,
            "encoder": encoder,
            "mean": mean,
            "interval": [mean - 1, mean + 1],
            "shuffled": score,
            "parameters": None if encoder == "a, pretrained" else 1_081_858,
        }

    return [
        row(task, *each)
        for task in ("sst-2", "trec")
        for each in (("CNN", 20.0, 22.0), ("attention", 21.0, 21.0), ("a, pretrained", pretrained))
    ]


def test_the_title_says_that_the_pretrained_model_is_best_only_if_it_is():
    tasks = {"sst-2": "reviews", "trec": "questions"}
    picture = encoder_errors(error_rows(9.0), tasks)
    assert title_of(picture) == "The pretrained model makes the fewest errors on every task"
    assert titles_of(picture.axes) == ["reviews", "questions"]
    assert "reviews, CNN: 20.0, shuffled 22.0; reviews, attention: 21.0" in picture.alt
    names = [label.get_text() for label in picture.axes[0].get_yticklabels()]
    assert names == ["CNN\n(1.1M)", "attention\n(1.1M)", "a, pretrained"]
    differing = error_rows(9.0)
    differing[0]["parameters"] = 90_000
    drawn = encoder_errors(differing, tasks).axes[0].get_yticklabels()
    assert drawn[0].get_text() == "CNN", "no count where the tasks differ"
    other = encoder_errors(error_rows(30.0), tasks)
    assert title_of(other) == "Errors from scratch and with pretraining"


def test_the_title_says_that_attention_takes_longer_only_if_it_does_at_every_length():
    def rows(shortest):
        times = {"CNN": [1, 2], "BiLSTM": [3, 9], "attention": [shortest, 20]}
        return [
            {"mode": "one text", "encoder": name, "length": length, "ms": ms}
            for name, each in times.items()
            for length, ms in zip((16, 512), each, strict=True)
        ]

    picture = time_by_length(rows(4), {"one text": "one text"})
    assert title_of(picture) == "Attention takes longer than the BiLSTM at every length"
    assert "one text, attention from 4 to 20" in picture.alt
    assert set(words_in(picture.axes[0])) == {"CNN", "BiLSTM", "attention"}
    assert picture.axes[0].get_xscale() == picture.axes[0].get_yscale() == "log"
    other = time_by_length(rows(2), {"one text": "one text"})
    assert title_of(other) == "Milliseconds by the length of a text"


def test_models_are_named_with_their_layers():
    models = history.models()
    picture = sizes_over_years(models)
    assert title_of(picture) == "From NNLM to GPT-3: 15,000 times the parameters"
    assert set(words_in(picture.axes[0])) == {f"{m.name} ({m.layers})" for m in models}
    assert "GPT-3 2020: 175,000 million" in picture.alt
    nothing_overlaps(picture)


def test_every_system_and_the_people_are_named_in_the_panel_of_their_task():
    scores, people = history.scores(), history.people()
    picture = scores_over_years(scores, people)
    shown = picture.axes
    assert titles_of(shown) == list(scores)
    for axes, (task, rows) in zip(shown, scores.items(), strict=True):
        named = {row.name for row in rows} | ({" people"} if task in people else set())
        assert set(words_in(axes)) == named
    assert "BERT-large 2018 80.5" in picture.alt
    assert pytest.approx(80.5) in [row.score for row in scores["GLUE, average"]]


def test_only_the_denoising_autoencoder_reads_something_else():
    picture = three_autoencoders("a dull movie with weak acting", "a movie dull weak acting")
    assert said(picture).count("a dull movie with weak acting") == 5
    assert said(picture).count("a movie dull weak acting") == 1
    assert len(edged(picture, "vermillion")) == 1 and len(edged(picture, "blue")) == 3
    assert len([arrow for arrow in arrows_of(picture) if arrow.arrow_patch]) == 12
    assert "reads “a movie dull weak acting”" in picture.alt
    nothing_overlaps(picture)


def test_methods_are_rows_and_tasks_are_panels():
    low, high = (0.4, 0.35, 0.45), (0.6, 0.55, 0.65)
    rows = {"mean": {"STS-B": low, "TREC": low}, "MiniLM": {"STS-B": high, "TREC": high}}
    picture = sentence_scores(rows)
    assert picture.alt == "mean: STS-B 0.4, TREC 0.4; MiniLM: STS-B 0.6, TREC 0.6."
    assert [axes.get_xlabel() for axes in picture.axes] == ["STS-B", "TREC"]
    refused("at least one row with a score", sentence_scores, {})


def test_a_method_may_lack_a_task():
    one = (0.4, 0.35, 0.45)
    picture = sentence_scores({"mean": {"STS-B": one, "TREC": one}, "MiniLM": {"TREC": one}})
    assert [len(axes.lines) for axes in picture.axes] == [1, 2]


def test_a_step_has_four_gates_and_two_states():
    picture = lstm_step()
    assert {"f   σ", "i   σ", "g   tanh", "o   σ", "c before", "c", "h"} <= {
        *words_in(picture.axes[0])
    }
    nothing_overlaps(picture)


def test_both_directions_meet_at_the_word():
    picture = two_directions(["</s>", "Michael"], "Jordan", ["scored", "again"], layers=2)
    words = words_in(picture.axes[0])
    assert words.count("Jordan") == 2 and words.count("layer 2") == words.count("characters") == 6
    assert [word for word in words if word.startswith("s") and len(word) == 2] == ["s₀", "s₁", "s₂"]
    assert "a backward model reads again, scored, Jordan" in picture.alt
    nothing_overlaps(picture)
    refused("two words on each side", two_directions, ["a"], "b", ["c", "d"])


def test_the_title_names_the_best_vectors_only_if_they_are_clearly_ahead():
    scores = {"skip-gram": (10.0, 9.0, 11.0), "MiniLM": (30.0, 29.0, 31.0)}
    picture = frozen_states(scores, {"2017": 41.9})
    assert title_of(picture) == "One tagger, F1 30 on MiniLM: clearly ahead"
    assert picture.alt == (
        "F1: MiniLM 30.0 (29.0 to 31.0), skip-gram 10.0 (9.0 to 11.0); 2017 41.9."
    )
    near = scores | {"causal": (29.0, 27.0, 31.0)}
    assert title_of(frozen_states(near)) == "Entity F1 of one tagger on different vectors"
    assert title_of(frozen_states(near, control="skip-gram")) == (
        "2 of 2 kinds of vectors are clearly better than skip-gram"
    )
    assert title_of(frozen_states(near, control="causal")).startswith("Entity F1")


STAGES = [
    ("pretraining", "Wikipedia\n1.8M tokens", "next token"),
    ("LM fine-tuning", "questions", "next token"),
    ("classifier", "500 questions", "label"),
]


def test_three_stages_stand_side_by_side_and_only_the_last_head_is_new():
    picture = ulmfit_stages(STAGES, layers=3)
    assert len(edged(picture, "blue")) == 1
    assert picture.alt.startswith("pretraining: reads Wikipedia 1.8M tokens, predicts next token;")
    assert "3 LSTM layers pass from stage to stage" in picture.alt
    nothing_overlaps(picture)
    refused("expected three stages, got 2", ulmfit_stages, STAGES[:2])


def test_the_title_says_that_layers_begin_one_after_another_only_if_they_do():
    names = ["embedding", "block 0", "head"]
    unfreezing = [[0, 0, 0.1, 0.2], [0, 0.2, 0.4, 0.5], [1.0, 3.0, 2.0, 1.0]]
    picture = layer_rates(names, unfreezing)
    assert title_of(picture).startswith("Layers below the head start later")
    assert "embedding from step 2; block 0 from step 1; head from step 0" in picture.alt
    assert picture.axes[0].get_yscale() == "log"
    assert title_of(layer_rates(names, [[1] * 4, [1] * 4, [3] * 4])).startswith("The learning rate")
    equal = [[0, 0, 1.0, 1.0], [0, 1.0, 1.0, 1.0], [1.0] * 4]
    assert title_of(layer_rates(names, equal)) == "The learning rate of each layer"
    refused("a name for each of 3 layers", layer_rates, names[:2], unfreezing)


def row(lstm, transformer):
    return {"AWD-LSTM": (lstm, lstm - 1, lstm + 1), "Transformer": (transformer,) * 3}


def test_a_title_on_stages_is_true_of_every_body():
    falling = {"from scratch": row(30, 31), "pretrained": row(20, 21), "ULMFiT": row(15, 16)}
    picture = errors_by_stage(falling, {"TF-IDF": 18.0}, what="TREC")
    assert title_of(picture) == "Each stage of ULMFiT lowers the error (TREC)"
    assert row_names(picture.axes[0]) == list(falling)
    assert picture.alt.endswith("ULMFiT: AWD-LSTM 15.0 %, Transformer 16.0 %; TF-IDF: 18.0 %.")
    nothing_overlaps(picture)
    mixed = falling | {"ULMFiT": row(22, 16)}
    assert title_of(errors_by_stage(mixed)).startswith("From scratch, each body")
    worse = falling | {"ULMFiT": row(40, 16)}
    assert title_of(errors_by_stage(worse)) == "Test errors, stage by stage"


def test_the_steadiest_row_is_named_only_if_it_is_clearly_so():
    errors = {"LSTM": [20.0, 24.0, 28.0], "Transformer": [18.0, 18.5, 19.0]}
    picture = seeds_of_models(errors, {"commonest label": 72.4})
    assert title_of(picture) == "Transformer varies least from seed to seed"
    assert "LSTM: 20.0 to 28.0 %, standard deviation 4.0" in picture.alt
    close = errors | {"LSTM": [20.0, 20.5, 21.1]}
    assert title_of(seeds_of_models(close)) == "The same labels, other seeds"
    refused("at least two runs", seeds_of_models, {"LSTM": [20.0]})
