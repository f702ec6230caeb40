import numpy as np

from tests.views.drawn import column_names, refused, row_names, title_of, titles_of
from tlcourse.views import (
    attention_change,
    attention_page,
    loss_without,
    number_travels,
    rollout_map,
    two_sentences,
    where_heads_rest,
    who_writes,
)

TOKENS = ["<eos>", "The", "noun", "near"]


def shares(*, early=0.0):
    """Five states: the noun's carry the number, and the last token's the last one."""
    values = np.zeros((5, 4))
    values[:4, 2], values[4, 3] = 0.9, 1
    values[2, 3] = early
    return values


def test_the_number_stays_at_the_noun_only_where_no_other_state_carries_it():
    picture = number_travels(shares(), TOKENS, 2)
    assert title_of(picture) == "The number stays at the noun until the last block"
    assert row_names(picture.axes[0]) == ["state 4", "state 3", "state 2", "state 1", "embeddings"]
    assert column_names(picture.axes[0]) == TOKENS
    assert "state 4: noun 0.00, last token 1.00" in picture.alt
    neutral = "Share of the change that one patched state brings"
    assert title_of(number_travels(shares(early=0.7), TOKENS, 2)) == neutral
    refused("shares of shape", lambda *_, **__: number_travels(shares(), TOKENS[:3], 2))


def test_a_part_is_named_only_where_it_outweighs_all_others():
    picture = who_writes({"head 5.2": 2.7, "feed-forward 5": 0.7, "head 1.0": -0.3}, 2)
    assert title_of(picture) == "Head 5.2 writes more than all other parts together"
    assert row_names(picture.axes[0]) == ["head 5.2", "feed-forward 5"]
    assert picture.alt == "head 5.2 +2.70; feed-forward 5 +0.70"
    close = who_writes({"head 5.2": 1.0, "feed-forward 5": 0.7, "head 1.0": -0.4})
    assert title_of(close) == 'What each part adds to the logit of " are" over " is"'


def test_rollout_is_compared_with_even_attention():
    even = np.tril(np.ones((4, 4))) / np.arange(1, 5)[:, None]
    picture = rollout_map(even, even, TOKENS, first="<eos>")
    assert title_of(picture) == "The first token has the largest share, as under even attention"
    assert "0.25; with evenly spread attention: 0.25" in picture.get_supxlabel()
    assert (
        title_of(rollout_map(np.eye(4), even, TOKENS, first="<eos>")) == "Rollout over all layers"
    )


def test_the_loss_jumps_only_where_one_part_costs_far_more_than_the_next():
    costs = {"block 0's attention": 4.5, "attention 1": 0.1, "feed-forward 0": -0.1}
    assert title_of(loss_without(costs)) == "Only without block 0's attention does the loss jump"
    assert "without feed-forward 0 -0.10" in loss_without(costs).alt
    alike = loss_without(costs | {"attention 1": 2.0})
    assert title_of(alike) == "What skipping one part adds to the loss"


def test_where_heads_rest_is_said_only_where_a_block_rests_there():
    low, high = np.full((3, 4), 0.05), np.full((3, 4), 0.3)
    none = {"[CLS]": low, "marks": high}
    cases = (
        (none | {"[CLS]": high}, "In some blocks, much of the attention goes to [CLS]"),
        (none, "No head spends half of its attention on [CLS]"),
    )
    for scores, title in cases:
        picture = where_heads_rest(scores, none, ["[CLS]"])
        assert title_of(picture) == title
    assert titles_of(picture.axes[:2]) == ["[CLS]\nat most 0.05", "marks\nat most 0.30"]
    assert "[CLS] at most 0.05, random 0.05" in picture.alt
    one_head = low.copy()
    one_head[0, 0] = 0.6
    picture = where_heads_rest(none | {"[CLS]": one_head}, none, ["[CLS]"])
    assert title_of(picture) == "Share of attention"


def test_maps_of_one_head_name_it():
    weights = np.full((4, 4), 0.25)
    changed = attention_change(weights, np.eye(4), TOKENS, head=(4, 3))
    assert title_of(changed) == "Head 4.3: attention after fine-tuning minus before"
    pair = two_sentences(weights, TOKENS, 2, head=(3, 1))
    assert title_of(pair) == "Head 3.1 over two sentences"
    assert len(pair.axes[0].lines) >= 2


def test_the_page_names_its_model():
    page = attention_page(np.full((1, 1, 4, 4), 0.25), TOKENS, "causal-small")
    assert "Attention of causal-small, all heads" in page.html()
