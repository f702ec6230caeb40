from tests.views.drawn import edged, nothing_overlaps, refused, row_names
from tlcourse.views import errors_by_stage, layer_rates, seeds_of_models, ulmfit_stages

STAGES = [
    ("pretraining", "Wikipedia\n1.8M tokens", "next token"),
    ("LM fine-tuning", "questions", "next token"),
    ("classifier", "500 questions", "label"),
]


def title_of(picture):
    return " ".join(picture.get_suptitle().split())


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
    assert title_of(errors_by_stage(mixed)).startswith("Whatever is added")
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
