"""Figures in one style, from arrays and tokens; they know no model.

    from tlcourse.views import curves

    curves(
        {"causal": (steps, losses), "masked": (steps, others)},
        title="Both losses fall",
        alt="Two falling curves over 1,000 steps; the causal one ends lower.",
        x_label="step",
        y_label="loss (nats per target)",
        note="Size small, WikiText-2.",
    )

What is drawn comes first, everything else is passed by keyword. Every figure has the finding as
its `title`, an `alt` text for those who cannot see it, and a label with the unit on each axis:
without them it raises ValueError. A `note` stands small below it. Drawings describe themselves
where no `alt` is given. As the last value of a cell, a figure shows itself.

A chart that several lessons use is in the module of its form (`bars`, `dots`, `lines`, `heat_maps`,
`panels`, `links`, `hover`, `interactive`); one that a single lesson uses is in `lesson_NN`. A
figure of your own:

    picture, axes = figure("The loss falls")
    axes.plot(losses)
    finish(picture, "A falling line.")
"""

from tlcourse.views.bars import horizontal_bars
from tlcourse.views.dots import (
    KNOB_COLOURS,
    Panel,
    grouped_dots,
    paired_differences,
    scatter,
    scheme_board,
    strips,
)
from tlcourse.views.heat_maps import (
    ablation_grid,
    difference_map,
    head_grid,
    heat_map,
    importance,
    mask_maps,
    movement,
    score_grid,
    task_by_layer,
)
from tlcourse.views.hover import hover
from tlcourse.views.interactive import slider
from tlcourse.views.lesson_00 import answer_bars, dev_errors, road, story
from tlcourse.views.lesson_01 import merge_rows, pattern_parts, text_to_ids, trainer_race
from tlcourse.views.lesson_01b import (
    bits_against_bpe,
    cuts_of_word,
    fertility_curve,
    stems_kept,
    words_changed,
)
from tlcourse.views.lesson_02 import (
    attention_heads,
    attention_lookup,
    block_and_stream,
    clocks,
    feed_forward_layer,
    heads_right,
    next_token_bars,
    pronoun_links,
    score_maps,
    who_sees_whom,
    whole_model,
)
from tlcourse.views.lesson_02b import (
    answer_and_trap,
    gated_feed_forward_layer,
    gradients_by_block,
    grouped_heads,
    losses_of_programs,
    quadratic_share,
    question_row,
    right_by_distance,
)
from tlcourse.views.lesson_03 import (
    LiveCurve,
    long_and_short,
    nats_of_targets,
    next_and_hidden,
    over_tokens_and_targets,
    sampling_bars,
    schedules,
    three_phases,
    training_loop,
    transfer_differences,
)
from tlcourse.views.lesson_03b import (
    interrupted_run,
    logits_in_chunks,
    predicted_and_true,
    seen_and_asked,
)
from tlcourse.views.lesson_04 import (
    class_scores,
    classifier_on_body,
    epoch_errors,
    errors_by_labels,
    errors_by_rate,
    flipped_sums,
    interval_by_size,
    label_probabilities,
    restarts,
)
from tlcourse.views.lesson_04b import (
    batch_in_parts,
    best_of_trials,
    best_on_two_halves,
    confusion,
    errors_by_frequency,
    errors_of_groups,
    lead_by_task,
    learning_rate_sweep,
    memory_by_parts,
    pooling_differences,
    recall_of_labels,
    seeds_apart,
)
from tlcourse.views.lesson_05 import block_with_schemes, four_knobs, rate_grids
from tlcourse.views.lesson_05b import lora_relatives, memory_bars
from tlcourse.views.lesson_06 import (
    before_and_after,
    decision_path,
    gains_by_labels,
    paired_gains,
    pairs_and_columns,
    signal_pipeline,
    what_saves,
)
from tlcourse.views.lesson_06b import gains_and_reach, self_training_loop, trade_off, two_masks
from tlcourse.views.lesson_07 import (
    accuracy_by_layer,
    bits_per_label,
    control_task,
    next_words,
    probe_on_frozen_body,
    removal,
    selectivity_by_layer,
)
from tlcourse.views.lesson_07b import attractors, growth, neuron, words_in_context
from tlcourse.views.lesson_08 import (
    attention_record,
    birth_curves,
    induction_pattern,
    lens_table,
    pruning_curve,
)
from tlcourse.views.lesson_08b import state_paths
from tlcourse.views.lines import curves, smooth
from tlcourse.views.links import arcs, token_lines
from tlcourse.views.panels import by_layer
from tlcourse.views.style import COLOURS, Picture, figure, finish

__all__ = [
    "COLOURS",
    "KNOB_COLOURS",
    "LiveCurve",
    "Panel",
    "Picture",
    "ablation_grid",
    "accuracy_by_layer",
    "answer_and_trap",
    "answer_bars",
    "arcs",
    "attention_heads",
    "attention_lookup",
    "attention_record",
    "attractors",
    "batch_in_parts",
    "before_and_after",
    "best_of_trials",
    "best_on_two_halves",
    "birth_curves",
    "bits_against_bpe",
    "bits_per_label",
    "block_and_stream",
    "block_with_schemes",
    "by_layer",
    "class_scores",
    "classifier_on_body",
    "clocks",
    "confusion",
    "control_task",
    "curves",
    "cuts_of_word",
    "decision_path",
    "dev_errors",
    "difference_map",
    "epoch_errors",
    "errors_by_frequency",
    "errors_by_labels",
    "errors_by_rate",
    "errors_of_groups",
    "feed_forward_layer",
    "fertility_curve",
    "figure",
    "finish",
    "flipped_sums",
    "four_knobs",
    "gains_and_reach",
    "gains_by_labels",
    "gated_feed_forward_layer",
    "gradients_by_block",
    "grouped_dots",
    "grouped_heads",
    "growth",
    "head_grid",
    "heads_right",
    "heat_map",
    "horizontal_bars",
    "hover",
    "importance",
    "induction_pattern",
    "interrupted_run",
    "interval_by_size",
    "label_probabilities",
    "lead_by_task",
    "learning_rate_sweep",
    "lens_table",
    "logits_in_chunks",
    "long_and_short",
    "lora_relatives",
    "losses_of_programs",
    "mask_maps",
    "memory_bars",
    "memory_by_parts",
    "merge_rows",
    "movement",
    "nats_of_targets",
    "neuron",
    "next_and_hidden",
    "next_token_bars",
    "next_words",
    "over_tokens_and_targets",
    "paired_differences",
    "paired_gains",
    "pairs_and_columns",
    "pattern_parts",
    "pooling_differences",
    "predicted_and_true",
    "probe_on_frozen_body",
    "pronoun_links",
    "pruning_curve",
    "quadratic_share",
    "question_row",
    "rate_grids",
    "recall_of_labels",
    "removal",
    "restarts",
    "right_by_distance",
    "road",
    "sampling_bars",
    "scatter",
    "schedules",
    "scheme_board",
    "score_grid",
    "score_maps",
    "seeds_apart",
    "seen_and_asked",
    "selectivity_by_layer",
    "self_training_loop",
    "signal_pipeline",
    "slider",
    "smooth",
    "state_paths",
    "stems_kept",
    "story",
    "strips",
    "task_by_layer",
    "text_to_ids",
    "three_phases",
    "token_lines",
    "trade_off",
    "trainer_race",
    "training_loop",
    "transfer_differences",
    "two_masks",
    "what_saves",
    "who_sees_whom",
    "whole_model",
    "words_changed",
    "words_in_context",
]
