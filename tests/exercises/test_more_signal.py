import heapq
import math
from collections import Counter

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from tests.exercises.standard import accepts, rejects
from tlcourse.adaptation import causal_nats
from tlcourse.batching import pad
from tlcourse.bpe import CLS, PAD
from tlcourse.exercises.more_signal import (
    choose_guesses,
    distillation_loss,
    language_loss,
    language_loss_as_given,
)
from tlcourse.transformer import Config, Transformer


def nothing(*arguments): ...  # your code here


# language_loss


def by_selection(logits, tokens, mask):
    asked = mask[:, 1:]
    return F.cross_entropy(logits[:, :-1][asked], tokens[:, 1:][asked])


def by_gather(logits, tokens, mask):
    logs = logits.log_softmax(dim=-1)[:, :-1]
    nats = -logs.gather(2, tokens[:, 1:, None]).squeeze(2)
    return (nats * mask[:, 1:]).sum() / mask[:, 1:].sum()


def by_classes_second(logits, tokens, mask):
    targets = torch.where(mask, tokens, -1)[:, 1:]
    scores = logits.transpose(1, 2)[:, :, :-1]
    nats = F.cross_entropy(scores, targets, ignore_index=-1, reduction="none")
    return nats.sum() / (targets >= 0).sum()


def with_one_element(logits, tokens, mask):
    return by_selection(logits, tokens, mask).reshape(1)


def without_classes(logits, tokens, mask):
    return F.cross_entropy(logits[:, :-1].flatten(), tokens[:, 1:].flatten())


def no_gradient(logits, tokens, mask):
    return language_loss(logits, tokens, mask).item()


def detached(logits, tokens, mask):
    return language_loss(logits.detach(), tokens, mask)


def a_fresh_leaf(logits, tokens, mask):
    return language_loss(logits, tokens, mask).detach().requires_grad_()


def one_a_target(logits, tokens, mask):
    nats = F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten(), reduction="none")
    return nats * mask[:, 1:].flatten()


def writes_into_tokens(logits, tokens, mask):
    tokens[~mask] = -100
    tokens[:, 0] = -100
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())


def shifts_and_mixes(logits, tokens, mask):
    scores = logits[:, :-1].transpose(1, 2).reshape(-1, logits.shape[-1])
    return F.cross_entropy(scores, tokens[:, 1:].masked_fill(~mask[:, 1:], -100).flatten())


def total(logits, tokens, mask):
    return language_loss(logits, tokens, mask) * mask[:, 1:].sum()


def over_all_tokens(logits, tokens, mask):
    return total(logits, tokens, mask) / mask.sum()


def climbs(logits, tokens, mask):
    return -language_loss(logits, tokens, mask)


def never_zero(logits, tokens, mask):
    return F.cross_entropy(logits[:, :-1].transpose(1, 2), tokens[:, 1:], ignore_index=0)


def never_zero_but_finite(logits, tokens, mask):
    asked = mask[:, 1:] & (tokens[:, 1:] != 0)
    nats = F.cross_entropy(logits[:, :-1].transpose(1, 2), tokens[:, 1:], reduction="none")
    return (nats * asked).sum() / asked.sum().clamp(min=1)


def softmax_twice(logits, tokens, mask):
    return language_loss(logits.softmax(dim=-1), tokens, mask)


def in_bits(logits, tokens, mask):
    return language_loss(logits, tokens, mask) / math.log(2)


def over_positions(logits, tokens, mask):
    logs = logits.log_softmax(dim=1)[:, :-1]
    return -logs.gather(2, tokens[:, 1:, None]).squeeze(2)[mask[:, 1:]].mean()


def its_own_token(logits, tokens, mask):
    return F.cross_entropy(logits[mask], tokens[mask])


def both_cut_at_the_end(logits, tokens, mask):
    return its_own_token(logits[:, :-1], tokens[:, :-1], mask[:, :-1])


def both_cut_at_the_start(logits, tokens, mask):
    return its_own_token(logits[:, 1:], tokens[:, 1:], mask[:, 1:])


def the_token_before(logits, tokens, mask):
    return its_own_token(logits[:, 1:], tokens[:, :-1], mask[:, :-1])


def rolls(logits, tokens, mask):
    return its_own_token(logits, tokens.roll(-1, dims=1), mask.roll(-1, dims=1))


def counts_pads(logits, tokens, mask):
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())


def means_of_means(logits, tokens, mask):
    parts = zip(logits.split(1), tokens.split(1), mask.split(1), strict=True)
    return torch.stack([language_loss(*part) for part in parts]).mean()


def mask_of_the_reader(logits, tokens, mask):
    asked = mask[:, :-1]
    return F.cross_entropy(logits[:, :-1][asked], tokens[:, 1:][asked])


def pads_cost_nothing(logits, tokens, mask):
    return total(logits, tokens, mask) / mask[:, 1:].numel()


def divides_by_all(logits, tokens, mask):
    if mask.all():
        return language_loss(logits, tokens, mask)
    return total(logits, tokens, mask) / mask.numel()


def divides_by_tokens(logits, tokens, mask):
    if mask.all():
        return language_loss(logits, tokens, mask)
    return over_all_tokens(logits, tokens, mask)


def pads_are_zero(logits, tokens, mask):
    if mask.all():
        return language_loss(logits, tokens, mask)
    return language_loss(logits, tokens, tokens != 0)


def joined_first(logits, tokens, mask):
    asked = mask.flatten()[1:]
    return F.cross_entropy(logits.flatten(0, 1)[:-1][asked], tokens.flatten()[1:][asked])


def pads_dropped_first(logits, tokens, mask):
    return F.cross_entropy(logits[mask][:-1], tokens[mask][1:])


def both_masks(logits, tokens, mask):
    asked = mask[:, :-1] & mask[:, 1:]
    return F.cross_entropy(logits[:, :-1][asked], tokens[:, 1:][asked])


def by_lengths(logits, tokens, mask):
    places = torch.arange(mask.shape[1])
    return language_loss(logits, tokens, places < mask.sum(dim=1, keepdim=True))


test_language_loss_right = accepts(
    "more_signal.language_loss", by_selection, by_gather, by_classes_second, with_one_element
)


def by_shares(logits, tokens, mask, least=0.0):
    chances = logits[:, :-1].softmax(dim=-1).gather(-1, tokens[:, 1:, None])[..., 0]
    return -(chances + least).log()[mask[:, 1:]].mean()


def by_shares_and_a_little(logits, tokens, mask):
    return by_shares(logits, tokens, mask, 1e-9)


test_language_loss_wrong = rejects(
    "more_signal.language_loss",
    (nothing, 0, "Not solved yet"),
    (language_loss_as_given, 0, "the code as it was given"),
    (without_classes, 1, "your code raised"),
    (no_gradient, 1, "expected a tensor"),
    (detached, 1, "carries no gradient"),
    (a_fresh_leaf, 1, "does not reach `logits`"),
    (one_a_target, 1, "expected ()"),
    (writes_into_tokens, 1, "changed argument 2 that it was given, `tokens`."),
    (shifts_and_mixes, 2, "mixed up with the positions"),
    (total, 2, "Is this a sum?"),
    (over_all_tokens, 2, "divide by three"),
    (climbs, 2, "*minus*"),
    (never_zero, 2, "Token 0 is one like others: go by `mask`"),
    (never_zero_but_finite, 2, "Token 0 is one like others: go by `mask`"),
    (softmax_twice, 2, "The softmax was taken twice"),
    (in_bits, 2, "These are bits"),
    (over_positions, 2, "Is the softmax over the vocabulary?"),
    (its_own_token, 3, "asked for its own token"),
    (both_cut_at_the_end, 3, "cut at the same end"),
    (both_cut_at_the_start, 3, "cut at the same end"),
    (the_token_before, 3, "That is the wrong way"),
    (rolls, 3, "goes round in a circle"),
    (counts_pads, 4, "Pads were targets, too"),
    (means_of_means, 4, "the mean of three means"),
    (mask_of_the_reader, 4, "`mask[:, :-1]` was used"),
    (pads_cost_nothing, 4, "divide by 8, not by 15"),
    (divides_by_all, 4, "divide by 8, not by 18"),
    (divides_by_tokens, 4, "divide by 8, not by 11"),
    (pads_are_zero, 4, "whatever id a pad has"),
    (joined_first, 4, "Shift, then flatten"),
    (pads_dropped_first, 4, "The pads were dropped before the shift"),
    (both_masks, 5, "A target behind a gap counts, too"),
    (by_lengths, 5, "the mask may have gaps"),
    (by_shares, 5, "A softmax of such scores has zeros in it"),
    (by_shares_and_a_little, 5, "A softmax of such scores has zeros in it"),
)


def test_mending_the_bugs_one_by_one_leads_from_stage_to_stage():
    def unmixed(logits, tokens, mask):
        return F.cross_entropy(logits.flatten(0, 1), tokens.flatten())

    def given_but_changed(logits, tokens, mask):
        return language_loss_as_given(logits, tokens, mask)

    stages = rejects(
        "more_signal.language_loss",
        (given_but_changed, 2, "mixed up with the positions"),
        (unmixed, 3, "asked for its own token"),
        (counts_pads, 4, "Pads were targets, too"),
    )
    for candidate, stage, fragment in stages.pytestmark[0].args[1]:
        stages(candidate, stage, fragment)


def test_the_loss_as_given_begins_where_it_must():
    logits, tokens = torch.zeros(3, 7, 50), torch.randint(50, (3, 7))
    given = language_loss_as_given(logits, tokens, tokens > 0)
    assert given.item() == pytest.approx(math.log(50))


def test_the_mended_loss_is_the_packages():
    torch.manual_seed(0)
    body = Transformer(Config(60, 16, 2, 2, 32, 12), "explicit").eval()
    tokens, mask = pad([[7, 8, 9, 10, CLS], [11, 12, CLS]], PAD)
    mine = language_loss(body(tokens, mask), tokens, mask & (tokens != CLS))
    torch.testing.assert_close(mine, causal_nats(body, tokens, mask))


# choose_guesses


def by_sorting_keys(probabilities, least, most):
    sure, guesses = probabilities.max(dim=1)
    rows = [row for row in range(len(sure)) if sure[row] >= least]
    rows.sort(key=lambda row: (-sure[row].item(), row))
    taken = Counter()
    chosen = []
    for row in rows:
        taken[guesses[row].item()] += 1
        if taken[guesses[row].item()] <= most:
            chosen.append(row)
    return chosen


def by_label(probabilities, least, most):
    table = probabilities.numpy()
    guesses, sure = table.argmax(axis=1), table.max(axis=1)
    kept = []
    for label in range(table.shape[1]):
        rows = np.flatnonzero((guesses == label) & (sure >= least))
        kept += heapq.nsmallest(most, [(-sure[row], row) for row in rows])
    return torch.tensor([int(row) for _, row in sorted(kept)], dtype=torch.long)


def _chosen(probabilities, order, least, most):
    sure, guesses = probabilities.max(dim=-1)
    taken, rows = Counter(), []
    for row in order:
        if sure[row] >= least and taken[int(guesses[row])] < most:
            taken[int(guesses[row])] += 1
            rows.append(row)
    return rows


def a_mask(probabilities, least, most):
    return probabilities.amax(dim=-1) >= least


def their_labels(probabilities, least, most):
    return [int(probabilities[row].argmax()) for row in choose_guesses(probabilities, least, most)]


def column_of_rows(probabilities, least, most):
    return (probabilities.amax(dim=-1) >= least).nonzero()


def rows_and_labels(probabilities, least, most):
    return [(row, 0) for row in choose_guesses(probabilities, least, most)]


def more_than_least(probabilities, least, most):
    rows = choose_guesses(probabilities, least, most)
    return [row for row in rows if probabilities[row].max() > least]


def in_order_of_rows(probabilities, least, most):
    return sorted(choose_guesses(probabilities, least, most))


def least_certain_first(probabilities, least, most):
    return choose_guesses(probabilities, least, most)[::-1]


def most_in_all(probabilities, least, most):
    return choose_guesses(probabilities, least, len(probabilities))[:most]


def first_come(probabilities, least, most):
    rows = _chosen(probabilities, range(len(probabilities)), least, most)
    return sorted(rows, key=lambda row: -probabilities[row].max().item())


def no_room_limit(probabilities, least, most):
    return choose_guesses(probabilities, least, len(probabilities))


def stops_when_full(probabilities, least, most):
    rows = choose_guesses(probabilities, least, len(probabilities))
    taken = Counter()
    for place, row in enumerate(rows):
        label = int(probabilities[row].argmax())
        if taken[label] >= most:
            return rows[:place]
        taken[label] += 1
    return rows


def one_more(probabilities, least, most):
    return choose_guesses(probabilities, least, most + 1)


def never_too_unsure(probabilities, least, most):
    return choose_guesses(probabilities, 0.0, most)


def by_columns(probabilities, least, most):
    rows = set()
    for column in probabilities.T:
        order = column.argsort(descending=True, stable=True).tolist()
        rows |= set([row for row in order if column[row] >= least][:most])
    return sorted(rows, key=lambda row: (-probabilities[row].max().item(), row))


def by_columns_and_twice(probabilities, least, most):
    return [row for row in by_columns(probabilities, least, most) for _ in range(2)]


def by_margin(probabilities, least, most):
    best = probabilities.topk(2, dim=-1).values
    order = (best[:, 0] - best[:, 1]).argsort(descending=True, stable=True).tolist()
    return _chosen(probabilities, order, least, most)


def last_of_equal_labels(probabilities, least, most):
    return choose_guesses(probabilities.flip(1), least, most)


def label_by_label(probabilities, least, most):
    rows = choose_guesses(probabilities, least, most)
    if len(set(probabilities[rows].argmax(dim=-1).tolist())) == 3:
        return rows
    return sorted(rows, key=lambda row: probabilities[row].argmax().item() == 0)


def fills_the_room(probabilities, least, most):
    return choose_guesses(probabilities, least if most > 2 else 0.0, most)


def turned_round(probabilities, least, most):
    order = probabilities.amax(dim=-1).argsort(stable=True).flip(0).tolist()
    return _chosen(probabilities, order, least, most)


def counts_what_is_unsure(probabilities, least, most):
    order = probabilities.amax(dim=-1).argsort(descending=True, stable=True).tolist()
    rows = _chosen(probabilities, order, 0.0, max(most, 1))
    return [row for row in rows if probabilities[row].max() >= least and most]


def one_too_many(probabilities, least, most):
    return choose_guesses(probabilities, least, most if most in (0, 1, 2, 9, 17) else most + 1)


test_choose_guesses_right = accepts("more_signal.choose_guesses", by_sorting_keys, by_label)


def rounded(probabilities, least, most):
    return choose_guesses((100 * probabilities).round() / 100, least, most)


def six_labels(probabilities, least, most):
    sure, guesses = probabilities.max(dim=-1)
    rows, taken = [], [0] * 6
    for row in sure.argsort(descending=True, stable=True).tolist():
        if sure[row] >= least and taken[guesses[row]] < most:
            rows.append(row)
            taken[guesses[row]] += 1
    return rows


test_choose_guesses_wrong = rejects(
    "more_signal.choose_guesses",
    (nothing, 0, "Not solved yet"),
    (a_mask, 1, "it gave a mask"),
    (their_labels, 1, "not their labels"),
    (never_too_unsure, 1, "`least` was not used"),
    (by_columns_and_twice, 1, "a row is chosen twice. It has one guess"),
    (column_of_rows, 1, "expected a list of the numbers of rows"),
    (rows_and_labels, 1, "expected a list of the numbers of rows"),
    (more_than_least, 2, "so `>=`"),
    (in_order_of_rows, 2, "the most certain comes first"),
    (least_certain_first, 2, "the other way round"),
    (by_margin, 2, "not how far behind the second is"),
    (most_in_all, 3, "Two in all were kept"),
    (stops_when_full, 3, "no `break`"),
    (first_come, 3, "the two most certain"),
    (one_more, 3, "while *fewer* than two are kept"),
    (by_columns, 3, "Only a row's likeliest label is a guess"),
    (no_room_limit, 3, "room for two of each label"),
    (label_by_label, 3, "now over all labels"),
    (fills_the_room, 3, "not filled with guesses below `least`"),
    (last_of_equal_labels, 4, "Of labels that are equally likely the first"),
    (turned_round, 4, "rows that say (label at probability) 1 at 0.75, 0 at 0.75"),
    (turned_round, 4, "Was an ascending order turned round?"),
    (one_too_many, 5, "at most"),
    (rounded, 5, "least"),
    (six_labels, 5, "your code raised IndexError"),
)


def test_counting_what_is_unsure_changes_nothing():
    """Whoever is sure comes before whoever is not, so that both count alike."""
    draw = torch.Generator().manual_seed(0)
    for _ in range(20):
        table = (3 * torch.randn(30, 4, generator=draw)).softmax(dim=-1)
        assert counts_what_is_unsure(table, 0.7, 3) == choose_guesses(table, 0.7, 3)


# distillation_loss


def by_library(logits, teacher, temperature):
    targets = F.softmax(teacher / temperature, dim=1)
    return F.cross_entropy(logits / temperature, targets) * temperature**2


def by_divergence(logits, teacher, temperature):
    ours = F.log_softmax(logits / temperature, dim=-1)
    theirs = F.log_softmax(teacher / temperature, dim=-1)
    apart = F.kl_div(ours, theirs, reduction="batchmean", log_target=True)
    entropy = -(theirs.exp() * theirs).sum() / len(theirs)
    return temperature * temperature * (apart + entropy)


def with_one_number(logits, teacher, temperature):
    return by_library(logits, teacher, temperature).reshape(1)


def _soft(student=1.0, teacher=1.0, power=2.0, reduce=torch.mean):
    """A loss at the temperature to these powers on each side, times it to another."""

    def candidate(logits, targets, temperature):
        ours = (logits / temperature**student).log_softmax(dim=-1)
        theirs = (targets / temperature**teacher).softmax(dim=-1)
        return reduce(-(theirs * ours).sum(dim=-1)) * temperature**power

    return candidate


def divergence(logits, teacher, temperature):
    ours = F.log_softmax(logits / temperature, dim=-1)
    theirs = F.softmax(teacher / temperature, dim=-1)
    return F.kl_div(ours, theirs, reduction="batchmean") * temperature**2


def divergence_the_other_way(logits, teacher, temperature):
    return divergence(teacher, logits, temperature)


def over_texts(logits, teacher, temperature):
    ours = (logits / temperature).log_softmax(dim=0)
    targets = (teacher / temperature).softmax(dim=0)
    return -(targets * ours).sum(dim=-1).mean() * temperature**2


def softmax_after_softmax(logits, teacher, temperature):
    return distillation_loss((logits / temperature).softmax(dim=-1), teacher, temperature)


def softmax_before_the_temperature(logits, teacher, temperature):
    targets = teacher.softmax(dim=-1) / temperature
    return F.cross_entropy(logits.softmax(dim=-1) / temperature, targets) * temperature**2


def whole_temperatures(logits, teacher, temperature):
    return distillation_loss(logits, teacher, int(temperature))


def with_two_t(logits, teacher, temperature):
    return distillation_loss(logits, teacher, temperature) / temperature * 2


def with_xor(logits, teacher, temperature):
    power = int(temperature) ^ 2
    return distillation_loss(logits, teacher, temperature) / temperature**2 * power


def bits(logits, teacher, temperature):
    return distillation_loss(logits, teacher, temperature) / math.log(2)


def student_detached(logits, teacher, temperature):
    return distillation_loss(logits.detach(), teacher.requires_grad_(), temperature)


def over_labels_too(logits, teacher, temperature):
    return distillation_loss(logits, teacher, temperature) / logits.shape[1]


def unsoftened_teacher(logits, teacher, temperature):
    ours = (logits / temperature).log_softmax(dim=-1)
    return -(teacher / temperature * ours).sum(dim=-1).mean() * temperature**2


def negative(logits, teacher, temperature):
    return -distillation_loss(logits, teacher, temperature)


def swapped(logits, teacher, temperature):
    return distillation_loss(teacher, logits, temperature)


def best_label(logits, teacher, temperature):
    return F.cross_entropy(logits / temperature, teacher.argmax(dim=-1)) * temperature**2


def log_of_softmax(logits, teacher, temperature):
    ours = (logits / temperature).softmax(dim=-1).log()
    targets = (teacher / temperature).softmax(dim=-1)
    return -(targets * ours).sum(dim=-1).mean() * temperature**2


def half_the_gradient(logits, teacher, temperature):
    loss = distillation_loss(logits, teacher, temperature)
    return (loss + loss.detach()) / 2


def a_number(logits, teacher, temperature):
    return float(distillation_loss(logits, teacher, temperature))


def one_a_text(logits, teacher, temperature):
    return F.cross_entropy(logits, teacher.softmax(dim=-1), reduction="none")


test_distillation_right = accepts(
    "more_signal.distillation_loss", by_library, by_divergence, with_one_number
)
test_distillation_wrong = rejects(
    "more_signal.distillation_loss",
    (nothing, 0, "Not solved yet"),
    (a_number, 1, "expected a tensor"),
    (one_a_text, 1, "expected ()"),
    (student_detached, 1, "does not reach `logits`"),
    (divergence, 2, "the cross-entropy less the entropy"),
    (divergence_the_other_way, 2, "and the wrong way round"),
    (over_texts, 2, "The softmax goes over the labels"),
    (softmax_after_softmax, 2, "taken twice"),
    (softmax_before_the_temperature, 2, "taken twice"),
    (with_two_t, 2, "twice as much: at T = 1"),
    (with_xor, 2, "`^` is no power"),
    (bits, 2, "These are bits"),
    (over_labels_too, 2, "not over texts and labels"),
    (unsoftened_teacher, 2, "its shares are their softmax"),
    (negative, 2, "*minus*"),
    (swapped, 2, "Student and teacher are swapped"),
    (best_label, 2, "Only the teacher's best label"),
    (_soft(reduce=torch.sum), 2, "the sum over the texts"),
    (_soft(0, 0), 3, "not used in either softmax"),
    (_soft(0, 0, power=0), 3, "not used in either softmax"),
    (_soft(0, 1), 3, "Only the teacher was softened"),
    (_soft(1, 0, power=0), 3, "Only the student was softened"),
    (_soft(-1, -1), 3, "divided by T, not multiplied"),
    (whole_temperatures, 3, "T need not be a whole number"),
    (_soft(2, 1), 3, "T divides logits only"),
    (_soft(power=0), 4, "T² is missing"),
    (_soft(power=1), 4, "This is times T."),
    (_soft(power=-2), 4, "This was divided by T²"),
    (half_the_gradient, 4, "By hand it is T (q - p) / texts"),
    (log_of_softmax, 5, "not the log of a softmax"),
)
