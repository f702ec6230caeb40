import math

import pytest
import torch
from torch.nn import functional as F

from tests.exercises.standard import accepts, rejects
from tlcourse.adaptation import causal_nats
from tlcourse.batching import pad
from tlcourse.bpe import CLS, PAD
from tlcourse.exercises.more_signal.choose_guesses import by, choose_guesses
from tlcourse.exercises.more_signal.distillation_loss import by_library, distillation_loss, softened
from tlcourse.exercises.more_signal.language_loss import (
    as_given,
    by_selection,
    counts_pads,
    language_loss,
    mixes,
)
from tlcourse.transformer import Config, Transformer


def nothing(*arguments): ...  # your code here


# language_loss


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


def never_zero(logits, tokens, mask):
    return F.cross_entropy(logits[:, :-1].transpose(1, 2), tokens[:, 1:], ignore_index=0)


def never_zero_but_finite(logits, tokens, mask):
    asked = mask[:, 1:] & (tokens[:, 1:] != 0)
    nats = F.cross_entropy(logits[:, :-1].transpose(1, 2), tokens[:, 1:], reduction="none")
    return (nats * asked).sum() / asked.sum().clamp(min=1)


def over_positions(logits, tokens, mask):
    logs = logits.log_softmax(dim=1)[:, :-1]
    return -logs.gather(2, tokens[:, 1:, None]).squeeze(2)[mask[:, 1:]].mean()


def by_lengths(logits, tokens, mask):
    places = torch.arange(mask.shape[1])
    return language_loss(logits, tokens, places < mask.sum(dim=1, keepdim=True))


test_language_loss_right = accepts("more_signal.language_loss", by_classes_second, with_one_element)


def by_shares(logits, tokens, mask, least=0.0):
    chances = logits[:, :-1].softmax(dim=-1).gather(-1, tokens[:, 1:, None])[..., 0]
    return -(chances + least).log()[mask[:, 1:]].mean()


def by_shares_and_a_little(logits, tokens, mask):
    return by_shares(logits, tokens, mask, 1e-9)


test_language_loss_wrong = rejects(
    "more_signal.language_loss",
    (nothing, 0, "Not solved yet"),
    (as_given, 0, "the code as it was given"),
    (without_classes, 1, "your code raised"),
    (no_gradient, 1, "expected a tensor"),
    (detached, 1, "carries no gradient"),
    (a_fresh_leaf, 1, "does not reach `logits`"),
    (one_a_target, 1, "expected ()"),
    (writes_into_tokens, 1, "changed argument 2 that it was given, `tokens`."),
    (never_zero, 2, "Token 0 is one like others: go by `mask`"),
    (never_zero_but_finite, 2, "Token 0 is one like others: go by `mask`"),
    (over_positions, 2, "Is the softmax over the vocabulary?"),
    (by_lengths, 5, "the mask may have gaps"),
    (by_shares, 5, "A softmax of such scores has zeros in it"),
    (by_shares_and_a_little, 5, "A softmax of such scores has zeros in it"),
)


def unmixed(logits, tokens, mask):
    return F.cross_entropy(logits.flatten(0, 1), tokens.flatten())


test_mending_the_bugs_one_by_one_leads_from_stage_to_stage = rejects(
    "more_signal.language_loss",
    (mixes, 2, "mixed up with the positions"),
    (unmixed, 3, "asked for its own token"),
    (counts_pads, 4, "Pads were targets, too"),
)


def test_the_loss_as_given_begins_where_it_must():
    logits, tokens = torch.zeros(3, 7, 50), torch.randint(50, (3, 7))
    given = as_given(logits, tokens, tokens > 0)
    assert given.item() == pytest.approx(math.log(50))


def test_the_mended_loss_is_the_packages():
    torch.manual_seed(0)
    body = Transformer(Config(60, 16, 2, 2, 32, 12), "explicit").eval()
    tokens, mask = pad([[7, 8, 9, 10, CLS], [11, 12, CLS]], PAD)
    mine = language_loss(body(tokens, mask), tokens, mask & (tokens != CLS))
    torch.testing.assert_close(mine, causal_nats(body, tokens, mask))


# choose_guesses


def a_mask(probabilities, least, most):
    return probabilities.amax(dim=-1) >= least


def their_labels(probabilities, least, most):
    return [int(probabilities[row].argmax()) for row in choose_guesses(probabilities, least, most)]


def as_a_tensor(probabilities, least, most):
    return torch.tensor(choose_guesses(probabilities, least, most))


def as_an_array(probabilities, least, most):
    return as_a_tensor(probabilities, least, most).numpy()


def as_a_tuple(probabilities, least, most):
    return tuple(choose_guesses(probabilities, least, most))


def numbered_anew(probabilities, least, most):
    sure = probabilities.amax(dim=-1) >= least
    return choose_guesses(probabilities[sure], least, most)


def over_the_texts(probabilities, least, most):
    sure = probabilities.max(dim=0).values
    return [label for label in range(len(sure)) if sure[label] >= least][:most]


def ahead_of_the_second(probabilities, least, most):
    first, second = probabilities.topk(2, dim=1).values.T
    rows = [row for row in range(len(first)) if first[row] - second[row] >= least]
    return sorted(rows, key=lambda row: second[row] - first[row])[:most]


def column_of_rows(probabilities, least, most):
    return (probabilities.amax(dim=-1) >= least).nonzero()


def rows_and_labels(probabilities, least, most):
    return [(row, 0) for row in choose_guesses(probabilities, least, most)]


def in_order_of_rows(probabilities, least, most):
    return sorted(choose_guesses(probabilities, least, most))


def by_columns(probabilities, least, most):
    rows = set()
    for column in probabilities.T:
        order = column.argsort(descending=True, stable=True).tolist()
        rows |= set([row for row in order if column[row] >= least][:most])
    return sorted(rows, key=lambda row: (-probabilities[row].max().item(), row))


def by_columns_and_twice(probabilities, least, most):
    return [row for row in by_columns(probabilities, least, most) for _ in range(2)]


def label_by_label(probabilities, least, most):
    rows = choose_guesses(probabilities, least, most)
    if len(set(probabilities[rows].argmax(dim=-1).tolist())) == 3:
        return rows
    return sorted(rows, key=lambda row: probabilities[row].argmax().item() == 0)


def counts_what_is_unsure(probabilities, least, most):
    surest = by(lambda table: table.amax(dim=-1).argsort(descending=True, stable=True))
    rows = surest(probabilities, 0.0, max(most, 1))
    return [row for row in rows if probabilities[row].max() >= least and most]


def one_too_many(probabilities, least, most):
    return choose_guesses(probabilities, least, most if most in (0, 1, 2, 9, 17) else most + 1)


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


test_choose_guesses_right = accepts("more_signal.choose_guesses", as_a_tensor)
test_choose_guesses_wrong = rejects(
    "more_signal.choose_guesses",
    (nothing, 0, "Not solved yet"),
    (a_mask, 1, "it gave a mask"),
    (their_labels, 1, "not their labels"),
    (as_an_array, 1, "expected a list of the numbers of rows. A tensor with them will do, too."),
    (as_a_tuple, 1, "expected a list of the numbers of rows. A tensor with them will do, too."),
    (numbered_anew, 1, "in the table these rows have other numbers"),
    (over_the_texts, 1, "These are columns"),
    (ahead_of_the_second, 1, "not how far behind the second is"),
    (by_columns_and_twice, 1, "a row is chosen twice. It has one guess"),
    (column_of_rows, 1, "expected a list of the numbers of rows"),
    (rows_and_labels, 1, "expected a list of the numbers of rows"),
    (in_order_of_rows, 2, "the most certain comes first"),
    (by_columns, 3, "Only a row's likeliest label is a guess"),
    (label_by_label, 3, "now over all labels"),
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


def with_one_number(logits, teacher, temperature):
    return by_library(logits, teacher, temperature).reshape(1)


def softmax_before_the_temperature(logits, teacher, temperature):
    targets = teacher.softmax(dim=-1) / temperature
    return F.cross_entropy(logits.softmax(dim=-1) / temperature, targets) * temperature**2


def student_detached(logits, teacher, temperature):
    return distillation_loss(logits.detach(), teacher.requires_grad_(), temperature)


def half_the_gradient(logits, teacher, temperature):
    loss = distillation_loss(logits, teacher, temperature)
    return (loss + loss.detach()) / 2


def a_number(logits, teacher, temperature):
    return float(distillation_loss(logits, teacher, temperature))


def one_a_text(logits, teacher, temperature):
    return F.cross_entropy(logits, teacher.softmax(dim=-1), reduction="none")


def caret(logits, teacher, temperature):
    return F.cross_entropy(logits, teacher.softmax(dim=-1)) * temperature ^ 2


def caret_in_brackets(logits, teacher, temperature):
    return F.cross_entropy(logits, teacher.softmax(dim=-1)) * (temperature ^ 2)


test_distillation_right = accepts("more_signal.distillation_loss", with_one_number)
test_distillation_wrong = rejects(
    "more_signal.distillation_loss",
    (nothing, 0, "Not solved yet"),
    (a_number, 1, "expected a tensor"),
    (caret, 1, "A power is `**` in Python"),
    (caret_in_brackets, 1, "A power is `**` in Python"),
    (one_a_text, 1, "expected ()"),
    (student_detached, 1, "does not reach `logits`"),
    (softmax_before_the_temperature, 2, "taken twice"),
    (softened(0, 0, power=0), 3, "not used in either softmax"),
    (softened(1, 0, power=0), 3, "Only the student was softened"),
    (softened(2, 1), 3, "T divides logits only"),
    (half_the_gradient, 4, "By hand it is T (q - p) / texts"),
)
