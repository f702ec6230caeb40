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

What is drawn comes first, all else by keyword. Every figure has the finding as its `title`, an
`alt` text for who cannot see it, and a label with the unit on each axis: without them it is a
ValueError. As the last value of a cell it shows itself. A figure of one's own:

    picture, axes = figure("The loss falls")
    axes.plot(losses)
    finish(picture, "A falling line.")
"""

from tlcourse.views.adaptation import movement, trade_off, unbeaten
from tlcourse.views.attention import difference_map, heat_map, mask_maps
from tlcourse.views.attention_diagrams import attention_heads, attention_lookup
from tlcourse.views.behaviour import attractors, growth, removal
from tlcourse.views.bpe import merge_rows, trainer_race
from tlcourse.views.bpe_diagrams import cuts_of_word, pattern_parts, text_to_ids
from tlcourse.views.classification import confusion
from tlcourse.views.diagrams import control_task, probe_on_frozen_body
from tlcourse.views.differences import paired_differences
from tlcourse.views.dots import grouped_dots, scatter, strips
from tlcourse.views.finetuning_deeper import batch_in_parts, learning_rate_sweep
from tlcourse.views.finetuning_diagrams import classifier_on_body
from tlcourse.views.finetuning_results import errors_by_labels, errors_by_rate, flipped_sums
from tlcourse.views.front import road, story
from tlcourse.views.gains import paired_gains
from tlcourse.views.head_curves import birth_curves, pruning_curve
from tlcourse.views.head_scores import ablation_grid, score_grid
from tlcourse.views.heads import head_grid
from tlcourse.views.hover import hover
from tlcourse.views.interactive import slider
from tlcourse.views.laws import predicted_and_true
from tlcourse.views.lens import lens_table, state_paths
from tlcourse.views.lines import curves, horizontal_bars
from tlcourse.views.links import token_lines, token_shades
from tlcourse.views.looking_diagrams import attention_record, induction_pattern
from tlcourse.views.memory_bars import memory_bars
from tlcourse.views.more_signal_deeper import gains_and_reach
from tlcourse.views.more_signal_deeper_diagrams import self_training_loop, two_masks
from tlcourse.views.more_signal_diagrams import decision_path, signal_pipeline
from tlcourse.views.objectives import over_tokens_and_targets
from tlcourse.views.positions import clocks, score_maps
from tlcourse.views.pretraining import (
    LiveCurve,
    long_and_short,
    seen_and_asked,
    smooth,
)
from tlcourse.views.pretraining_diagrams import (
    nats_of_targets,
    next_and_hidden,
    three_phases,
    training_loop,
)
from tlcourse.views.probing import by_layer, code_lengths, selectivity_by_layer, task_by_layer
from tlcourse.views.rate_grids import rate_grids
from tlcourse.views.relatives_diagrams import lora_relatives
from tlcourse.views.sampling import sampling_bars
from tlcourse.views.scheme_board import KNOB_COLOURS, Panel, scheme_board
from tlcourse.views.scheme_diagrams import block_with_schemes, four_knobs
from tlcourse.views.step_diagrams import interrupted_run, logits_in_chunks
from tlcourse.views.style import COLOURS, Picture, figure, finish
from tlcourse.views.transformer_diagrams import (
    block_and_stream,
    feed_forward_layer,
    gated_feed_forward_layer,
    grouped_heads,
    whole_model,
)
from tlcourse.views.trees import arcs
from tlcourse.views.words import importance, neuron, words_in_context

__all__ = [
    "COLOURS",
    "KNOB_COLOURS",
    "LiveCurve",
    "Panel",
    "Picture",
    "ablation_grid",
    "arcs",
    "attention_heads",
    "attention_lookup",
    "attention_record",
    "attractors",
    "batch_in_parts",
    "birth_curves",
    "block_and_stream",
    "block_with_schemes",
    "by_layer",
    "classifier_on_body",
    "clocks",
    "code_lengths",
    "confusion",
    "control_task",
    "curves",
    "cuts_of_word",
    "decision_path",
    "difference_map",
    "errors_by_labels",
    "errors_by_rate",
    "feed_forward_layer",
    "figure",
    "finish",
    "flipped_sums",
    "four_knobs",
    "gains_and_reach",
    "gated_feed_forward_layer",
    "grouped_dots",
    "grouped_heads",
    "growth",
    "head_grid",
    "heat_map",
    "horizontal_bars",
    "hover",
    "importance",
    "induction_pattern",
    "interrupted_run",
    "learning_rate_sweep",
    "lens_table",
    "logits_in_chunks",
    "long_and_short",
    "lora_relatives",
    "mask_maps",
    "memory_bars",
    "merge_rows",
    "movement",
    "nats_of_targets",
    "neuron",
    "next_and_hidden",
    "over_tokens_and_targets",
    "paired_differences",
    "paired_gains",
    "pattern_parts",
    "predicted_and_true",
    "probe_on_frozen_body",
    "pruning_curve",
    "rate_grids",
    "removal",
    "road",
    "sampling_bars",
    "scatter",
    "scheme_board",
    "score_grid",
    "score_maps",
    "seen_and_asked",
    "selectivity_by_layer",
    "self_training_loop",
    "signal_pipeline",
    "slider",
    "smooth",
    "state_paths",
    "story",
    "strips",
    "task_by_layer",
    "text_to_ids",
    "three_phases",
    "token_lines",
    "token_shades",
    "trade_off",
    "trainer_race",
    "training_loop",
    "two_masks",
    "unbeaten",
    "whole_model",
    "words_in_context",
]
