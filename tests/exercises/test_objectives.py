"""Right and wrong answers to the exercises of lesson 10, and their agreement with the package."""

import itertools

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from tests.exercises.standard import accepts, rejects
from tlcourse import objectives
from tlcourse.batching import generator_for
from tlcourse.bpe import CLS, EOS, MASK, PAD, SEP, SPECIALS
from tlcourse.exercises.objectives.corrupt_spans import corrupt_spans, given, renumbered
from tlcourse.exercises.objectives.dependence import comparing, dependence
from tlcourse.exercises.objectives.fill_by_masks import ordinary, picking, write_with_masks
from tlcourse.exercises.objectives.sentence_order import by_rows, framed, sentence_order
from tlcourse.exercises.objectives.spot_the_fake import detection_loss, with_changes
from tlcourse.transformer import Config, grow_types

# dependence


def by_distance(model, tokens):
    found = torch.zeros(len(tokens), len(tokens), dtype=torch.bool)
    for j, token in enumerate(tokens.tolist()):
        changed = torch.tensor([*tokens[:j].tolist(), 8 if token == 7 else 7, *tokens[j + 1 :]])
        found[:, j] = (model(changed) - model(tokens)).abs().max(dim=1).values > 0
    return found


def restoring(model, tokens):
    n, before, tokens = len(tokens), model(tokens), tokens.clone()
    rows = [[False] * n for _ in range(n)]
    for j in range(n):
        old = int(tokens[j])
        tokens[j] = (old + 1) % 100
        after = model(tokens)
        tokens[j] = old
        for i in range(n):
            rows[i][j] = not torch.equal(before[i], after[i])
    return torch.tensor(rows)


def by_a_matrix_of_texts(model, tokens):
    texts = (tokens + torch.eye(len(tokens), dtype=torch.long)) % 100
    outputs = torch.stack([model(text) for text in texts])
    return (outputs != model(tokens)).any(2).mT


def further_than(tolerance):
    return comparing(lambda one, other: (one - other).abs().amax(-1) > tolerance)


def one_by_one(model, tokens):
    """All tokens are changed in the end, each compared with the text before."""
    text, columns = tokens.clone(), []
    for j in range(len(tokens)):
        before = model(text)
        text[j] = (text[j] + 1) % 100
        columns.append((model(text) != before).any(-1))
    return torch.stack(columns, 1)


def all_of_this_id(model, tokens):
    before, columns = model(tokens), []
    for token in tokens:
        changed = torch.where(tokens == token, (token + 1) % 100, tokens)
        columns.append((model(changed) != before).any(-1))
    return torch.stack(columns, 1)


def leaving_out(model, tokens):
    before, columns = model(tokens), []
    for j in range(len(tokens)):
        after = model(torch.cat([tokens[:j], tokens[j + 1 :]]))
        columns.append((after != before[: len(after)]).any(-1))
    return torch.stack(columns, 1)


def in_place(model, tokens):
    before, columns = model(tokens), []
    for j in range(len(tokens)):
        tokens[j] += 1
        columns.append((model(tokens) != before).any(-1))
    return torch.stack(columns, 1)


def as_a_batch(model, tokens):
    texts = tokens + torch.eye(len(tokens), dtype=torch.long)
    return (model(texts) != model(tokens)).any(2).mT


def comparing_with_the_last(model, tokens):
    before, columns = model(tokens), []
    for j in range(len(tokens)):
        changed = tokens.clone()
        changed[j] = (tokens[j] + 1) % 100
        after = model(changed)
        columns.append((after != before).any(-1))
        before = after
    return torch.stack(columns, 1)


def below(offset):
    """Assumes a causal mask."""
    return lambda model, tokens: torch.ones(len(tokens), len(tokens)).tril(offset) > 0


test_dependence_right = accepts(
    "objectives.dependence", by_distance, restoring, by_a_matrix_of_texts
)
test_dependence_wrong = rejects(
    "objectives.dependence",
    (lambda *given: print(), 1, "None (is a `return` missing?)"),
    (lambda model, tokens: model(tokens.float()), 1, "called with model = a model, tokens of"),
    (lambda *given: dependence(*given).float(), 1, "gives booleans"),
    (lambda *given: dependence(*given).tolist(), 1, "gives booleans"),
    (lambda *given: dependence(*given).any(1), 1, "a row for each position"),
    (in_place, 1, "Argument 2, `tokens`, after the call"),
    (leaving_out, 1, "leave the length of the text as it is"),
    (as_a_batch, 1, "Expected: shape (3,)"),
    (lambda model, tokens: model(tokens[None]) != 0, 1, "one text, not a batch"),
    (comparing_with_the_last, 2, "the output for the original text"),
    (below(0), 2, "only the output at position j changes here"),
    (lambda *given: dependence(*given).tril(), 3, "Assume no mask"),
    (comparing(lambda one, other: one.sum(-1) != other.sum(-1)), 2, "not their sum"),
    (one_by_one, 2, "The earlier tokens are still changed"),
    (all_of_this_id, 4, "a text in which 2 tokens are changed"),
    (comparing(lambda one, other: ~torch.isclose(one, other).all(-1)), 4, "without a tolerance"),
    *((further_than(each), 4, "without a tolerance") for each in (1e-6, 1e-3)),
    (comparing(lambda one, other: (other > one).any(-1)), 4, "smaller has changed, too"),
    (comparing(lambda one, other: (other < one).any(-1)), 4, "compare with `!=`"),
    (comparing(lambda one, other: one[:, 0] != other[:, 0]), 2, "compare all numbers of a row"),
    (comparing(lambda one, other: one[:, -1] != other[:, -1]), 2, "compare all numbers of a row"),
    (
        lambda *given: dependence(*given) | torch.eye(len(given[1])).bool(),
        *(4, "which rows of the output are different"),
    ),
    *((comparing(new=lambda token, id=id: id), 5, "a fixed id") for id in (PAD, MASK, 7, 50, 99)),
    (comparing(new=lambda token: min(token + 1, 99)), 5, "*another* token"),
    (comparing(new=lambda token: token + 1 % 100), 5, "a vocabulary of 100 ends at 99"),
)

# fill_by_masks


def with_a_list(model, tokens, count):
    ids = tokens.tolist()
    for _ in range(count):
        logits = model(torch.tensor([[*ids, MASK]]))
        ids.append(max(range(len(SPECIALS), logits.shape[2]), key=lambda i: logits[0, -1, i]))
    return torch.tensor(ids)


def in_a_longer_tensor(model, tokens, count):
    text, start = F.pad(tokens, (0, count)), len(tokens)
    for place in range(start, start + count):
        text[place] = MASK
        logits = model(text[None, : place + 1])[0, place].clone()
        logits[: len(SPECIALS)] = -torch.inf
        text[place] = logits.argmax()
    return text


def by_recursion(model, tokens, count):
    if count == 0:
        return tokens
    last = torch.full((1,), MASK)
    logits = model(torch.cat([tokens, last]).unsqueeze(0)).squeeze(0)[-1]
    order = logits.argsort(descending=True)
    return by_recursion(model, torch.cat([tokens, order[order >= len(SPECIALS)][:1]]), count - 1)


def without_mask(model, tokens, count):
    for _ in range(count):
        tokens = torch.cat([tokens, ordinary(model(tokens[None])[0, -1])[None]])
    return tokens


def first_mask(model, tokens, count):
    for _ in range(count):
        masked = torch.cat([tokens, torch.tensor([MASK])])
        place = masked.tolist().index(MASK)
        tokens = torch.cat([tokens, ordinary(model(masked[None])[0, place])[None]])
    return tokens


def filling_every_mask(model, tokens, count):
    for _ in range(count):
        masked = torch.cat([tokens, torch.tensor([MASK])])
        best = len(SPECIALS) + model(masked[None])[0, :, len(SPECIALS) :].argmax(-1)
        tokens = torch.where(masked == MASK, best, masked)
    return tokens


def excluding(*ids, value=-torch.inf):
    return picking(lambda logits: logits.index_fill(0, torch.tensor(ids), value).argmax())


def without_a_batch(model, tokens, count):
    return torch.cat([tokens, model(torch.cat([tokens, torch.tensor([MASK])]))[-1].argmax()[None]])


def all_masks_but_one_by_one(model, tokens, count):
    text = torch.cat([tokens, torch.full((count,), MASK)])
    for place in range(len(tokens), len(text)):
        text[place] = ordinary(model(text[None])[0, place])
    return text


def one_at_least(model, tokens, count):
    return write_with_masks(model, tokens, max(1, count))


def one_too_many(model, tokens, count):
    return write_with_masks(model, tokens, count + 1)


def only_if_something_is_new(model, tokens, count):
    if count:
        return write_with_masks(model, tokens, count)


test_fill_by_masks_right = accepts(
    "objectives.fill_by_masks", with_a_list, in_a_longer_tensor, by_recursion
)
test_fill_by_masks_wrong = rejects(
    "objectives.fill_by_masks",
    (lambda *given: print(write_with_masks(*given)), 1, "None (is a `return` missing?)"),
    (lambda *given: write_with_masks(*given).tolist(), 1, "a tensor of ids of shape"),
    (lambda *given: write_with_masks(*given)[None], 1, "a tensor of ids of shape"),
    (lambda *given: write_with_masks(*given).float(), 1, "a tensor of ids of shape"),
    (without_mask, 1, "where a next-token model makes it"),
    (without_a_batch, 1, "The model takes a batch"),
    (picking(ordinary, place=0), 1, "at *its* position, the last one"),
    (picking(lambda logits: ordinary(logits.abs())), 1, "The largest logit"),
    (one_too_many, 1, "for each of the `count` new tokens"),
    (all_masks_but_one_by_one, 2, "has one `<mask>`"),
    (excluding(EOS), 3, "Compare only ordinary tokens"),
    (
        picking(lambda logits: len(SPECIALS) + logits[len(SPECIALS) : -1].argmax()),
        *(3, "The last id of the vocabulary"),
    ),
    (excluding(MASK), 3, "A special token is chosen"),
    (excluding(MASK, EOS), 3, "Compare only ordinary tokens"),
    *(
        (excluding(*range(6), value=value), 3, "such as 0 or -100 may be larger than all others")
        for value in (0.0, -100.0, -1e4)
    ),
    (excluding(*range(7)), 3, "it is not excluded"),
    (one_at_least, 4, "may be 0"),
    (only_if_something_is_new, 4, "None (is a `return` missing?)"),
    (first_mask, 4, "Read the logits at the last position"),
    (filling_every_mask, 4, "that was in the text before stays"),
)

# corrupt_spans


def by_groups(tokens, hidden, first_sentinel):
    source, target, number = [], [], itertools.count(first_sentinel)
    for hide, group in itertools.groupby(
        zip(hidden, tokens, strict=True), key=lambda pair: pair[0]
    ):
        ids = [token for _, token in group]
        if hide:
            sentinel = next(number)
            source.append(sentinel)
            target.extend([sentinel, *ids])
        else:
            source.extend(ids)
    return source, [*target, next(number)]


def from_the_end(tokens, hidden, first_sentinel):
    starts = [h and not before for h, before in zip(hidden, [False, *hidden], strict=False)]
    sentinel = first_sentinel + sum(starts)
    source, target = [], [sentinel]
    for token, hide, start in reversed([*zip(tokens, hidden, starts, strict=True)]):
        if not hide:
            source.insert(0, token)
            continue
        target.insert(0, token)
        if start:
            sentinel -= 1
            source.insert(0, sentinel)
            target.insert(0, sentinel)
    return [source, target]


def by_differences(tokens, hidden, first_sentinel):
    ids, mask = np.array(tokens, dtype=int), np.array(hidden, dtype=bool)
    first = mask & ~np.concatenate([[False], mask])[: len(mask)]
    sentinels = first_sentinel + first.cumsum() - 1
    source = np.where(first, sentinels, ids)[~mask | first]
    pairs = np.stack([sentinels, ids], axis=1)[np.stack([first, mask], axis=1)]
    return source.tolist(), [*pairs.tolist(), int(first_sentinel + first.sum())]


def after(change):
    """The reference with its source and target changed: `change(source, target, *given)`."""
    return lambda *given: change(*corrupt_spans(*given), *given)


def no_sentinel_in_source(source, target, tokens, hidden, first):
    return [token for token, hide in zip(tokens, hidden, strict=True) if not hide], target


def whole_text_as_target(source, target, tokens, hidden, first):
    return source, tokens


def sentinels_behind(tokens, hidden, first_sentinel):
    source, target = corrupt_spans(tokens, hidden, first_sentinel)
    ends = [place for place, token in enumerate(target) if token >= first_sentinel][1:]
    target = [token for token in target if token < first_sentinel]
    for number, place in enumerate(ends):
        target.insert(place - 1, first_sentinel + number)
    return source, [*target, first_sentinel + len(ends)]


def looking_ahead(tokens, hidden, first_sentinel):
    """Ends a span at the last token only if a token follows that is not hidden."""
    source, target = corrupt_spans(tokens, hidden, first_sentinel)
    return source, target[:-1] if hidden and hidden[-1] else target


def by_value(tokens, hidden, first_sentinel):
    gone = {token for token, hide in zip(tokens, hidden, strict=True) if hide}
    return corrupt_spans(tokens, [token in gone for token in tokens], first_sentinel)


def by_the_last_id(tokens, hidden, first_sentinel):
    """A span begins where the source does not end with a sentinel."""
    source, target, sentinel = [], [], first_sentinel
    for token, hide in zip(tokens, hidden, strict=True):
        if hide and (not source or source[-1] < first_sentinel):
            source.append(sentinel)
            target.append(sentinel)
            sentinel += 1
        (target if hide else source).append(token)
    return source, [*target, sentinel]


def zero_is_hidden(tokens, hidden, first_sentinel):
    gone = [hide or token == 0 for token, hide in zip(tokens, hidden, strict=True)]
    return corrupt_spans(tokens, gone, first_sentinel)


def not_empty(tokens, hidden, first_sentinel):
    source, target = corrupt_spans(tokens, hidden, first_sentinel)
    return source, target if any(hidden) else []


def changing_the_text(tokens, hidden, first_sentinel):
    found = corrupt_spans(tokens, hidden, first_sentinel)
    tokens[:] = found[0]
    return found


test_corrupt_spans_right = accepts(
    "objectives.corrupt_spans", by_groups, from_the_end, by_differences
)
test_corrupt_spans_wrong = rejects(
    "objectives.corrupt_spans",
    (lambda *given: print(), 1, "None (is a `return` missing?)"),
    (lambda *given: corrupt_spans(*given)[0], 1, "2 values, `return source, target`"),
    (changing_the_text, 1, "Argument 1, `tokens`, after the call"),
    (after(no_sentinel_in_source), 1, "a sentinel for each span"),
    (after(whole_text_as_target), 1, "The target has h + k + 1"),
    (lambda *given: corrupt_spans(*given)[::-1], 1, "n - h + k"),
    (lambda *given: [*map(torch.tensor, corrupt_spans(*given))], 2, "Return Python's lists"),
    (renumbered(lambda i: i + 1), 2, "counted from the left"),
    (renumbered(lambda i: 1 - i if i < 2 else i), 2, "counted from the left"),
    (after(lambda source, target, *_: (source, [*target[:-1], target[0]])), 3, "the next sentinel"),
    (sentinels_behind, 3, "followed by the tokens of its span"),
    (looking_ahead, 4, "after the last there is none that would end a span"),
    (not_empty, 5, "only sentinel 0"),
    (lambda tokens, *given: corrupt_spans(tokens or [0], *given), 5, "list index out of range"),
    (lambda tokens, hidden, _: corrupt_spans(tokens, hidden, 100), 6, "Sentinels begin at"),
    (by_value, 6, "A token may occur several times"),
    (by_the_last_id, 6, "or larger than a sentinel's"),
    (zero_is_hidden, 6, "its id may be 0"),
    (
        after(lambda source, target, *_: (source, [*filter(None, target)])),
        *(6, "its id may be 0"),
    ),
)


@pytest.mark.parametrize("seed", range(5))
def test_the_reference_corrupts_as_the_package(seed):
    windows = torch.arange(6, 6 + 4 * 30).view(4, 30)
    sources, targets = objectives.corrupt_spans(windows, generator_for(seed), 1000, probability=0.3)
    for tokens, source, target in zip(
        *map(torch.Tensor.tolist, (windows, sources, targets)), strict=True
    ):
        hidden = [token in target for token in tokens]
        assert corrupt_spans(tokens, hidden, 1000) == (source, target)
        n, k = objectives.span_counts(30, probability=0.3)
        assert (len(source), len(target)) == (30 - n + k, n + k + 1)


def test_the_example_of_the_paper():
    text = ["Thank", "you", "for", "inviting", "me", "to", "your", "party", "last", "week"]
    hidden = [word in ("for", "inviting", "last") for word in text]
    source, target = corrupt_spans([*range(10)], hidden, 100)
    assert source == [0, 1, 100, 4, 5, 6, 7, 101, 9]
    assert target == [100, 2, 3, 101, 8, 102]
    assert given("..##", 20) == ([11, 12, 13, 14], [False, False, True, True], 20)


# sentence_order


def row_after_row(tokens, swapped):
    half = tokens.shape[1] // 2
    rows = []
    for row, exchange in zip(tokens, swapped, strict=True):
        segments = [row[:half], row[half : 2 * half]]
        first, second = segments[::-1] if exchange else segments
        parts = [torch.tensor([CLS]), first, torch.tensor([SEP]), second, torch.tensor([SEP])]
        rows.append(torch.cat(parts))
    pairs = torch.stack(rows)
    return pairs, (torch.arange(pairs.shape[1]) > half + 1).repeat(len(pairs), 1).int()


def by_places(tokens, swapped):
    batch, half = len(tokens), tokens.shape[1] // 2
    places = torch.arange(2 * half).repeat(batch, 1)
    places[swapped] = places[swapped].roll(half, dims=1)
    moved = tokens.gather(1, places)
    pairs = torch.full((batch, 2 * half + 3), SEP)
    pairs[:, 0] = CLS
    pairs[:, 1 : half + 1] = moved[:, :half]
    pairs[:, half + 2 : -1] = moved[:, half:]
    return [pairs, torch.tensor([[0] * (half + 2) + [1] * (half + 1)] * batch)]


def by_arithmetic(tokens, swapped):
    half, swap = tokens.shape[1] // 2, swapped.long()[:, None]
    one, two = tokens[:, :half], tokens[:, half:][:, :half]
    return framed(one + swap * (two - one), two + swap * (one - two))


def after_pairs(change):
    """The reference with its two tensors changed: `change(pairs, types)`."""
    return lambda *given: change(*sentence_order(*given))


def small_types(dtype):
    return after_pairs(lambda pairs, types: (pairs, types.to(dtype)))


def searching(pairs, types):
    """A type is the number of `<sep>` before it, 1 at most."""
    found = (pairs == SEP).long()
    return pairs, (found.cumsum(1) - found).clamp(max=1)


def longer_than_one(tokens, swapped):
    assert tokens.shape[1] > 1
    return sentence_order(tokens, swapped)


def halves(cut):
    """The reference with other halves: `cut(row, exchange)` of one window."""
    return by_rows(lambda row, exchange: framed(*cut(row, exchange)))


def backwards(row, exchange):
    half = row.shape[1] // 2
    row = row[:, : 2 * half].flip(1) if exchange else row
    return row[:, :half], row[:, half : 2 * half]


def rolled(row, exchange):
    half = row.shape[1] // 2
    row = row.roll(half, 1) if exchange else row
    return row[:, :half], row[:, half : 2 * half]


def last_tokens(row, exchange):
    half = row.shape[1] // 2
    one, two = row[:, :half], row[:, -half:]
    return (two, one) if exchange else (one, two)


def in_place_of_windows(tokens, swapped):
    half = tokens.shape[1] // 2
    tokens[swapped] = tokens[swapped].roll(half, 1)
    return sentence_order(tokens, torch.zeros_like(swapped))


def types_of_halves(pairs, types):
    return pairs, types.roll(1, 1).index_fill(1, torch.tensor([0]), 0)


test_sentence_order_right = accepts(
    "objectives.sentence_order",
    row_after_row,
    by_places,
    by_arithmetic,
    *map(small_types, (torch.uint8, torch.int8, torch.int16)),
)
test_sentence_order_wrong = rejects(
    "objectives.sentence_order",
    (lambda *given: print(), 1, "None (is a `return` missing?)"),
    (lambda *given: sentence_order(*given)[0], 1, "return pairs, types"),
    (after_pairs(lambda pairs, types: (pairs.tolist(), types.tolist())), 1, "two tensors of"),
    (small_types(torch.bool), 1, "two tensors of integers"),
    (small_types(torch.float), 1, "two tensors of integers"),
    (after_pairs(lambda pairs, types: (pairs[:, :-1], types[:, :-1])), 1, "three special ones"),
    (in_place_of_windows, 1, "Argument 1, `tokens`, after the call"),
    (
        lambda tokens, swapped: sentence_order(tokens.masked_fill(tokens == SEP, PAD), swapped),
        *(3, "It is a token like any other"),
    ),
    (
        after_pairs(lambda pairs, types: (torch.where(pairs == CLS, SEP, pairs), types)),
        2,
        "`<cls>`",
    ),
    (
        lambda tokens, swapped: sentence_order(tokens, swapped | True),
        *(2, "are exchanged here: only True means exchanged"),
    ),
    (halves(backwards), 3, "each keeps the order of its tokens"),
    (lambda tokens, swapped: sentence_order(tokens, swapped & False), 3, "change places"),
    (after_pairs(types_of_halves), 4, "up to and including the `<sep>` in the middle"),
    (after_pairs(searching), 4, "do not search for it"),
    (longer_than_one, 5, "raised AssertionError"),
    (halves(rolled), 5, "the last token is left out"),
    (halves(last_tokens), 5, "the last token is left out"),
)


@pytest.mark.parametrize("length", [9, 16, 23])
def test_the_reference_builds_the_pairs_of_the_package(length):
    windows = torch.randint(6, 1000, (40, length), generator=generator_for(0))
    objective = objectives.SentenceOrder()
    _, pairs, _, labels = objective.batch(windows, generator_for(1), 1000)
    half = (length - 3) // 2
    mine, types = sentence_order(windows[:, : 2 * half], labels.bool())
    assert torch.equal(mine, pairs) and 0 < labels.sum() < 40
    model, seen = objective.model(Config(1000, 8, 1, 1, 8, 32)), []
    model.body = grow_types(model.body, 2)
    model.body.types.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    model.hidden(pairs)
    assert torch.equal(types, seen[0])


# spot_the_fake


def by_logsigmoid(detector, tokens, chosen, sampled):
    replaced = tokens.masked_scatter(chosen, sampled)
    logits = detector(replaced)
    nats = torch.where(replaced == tokens, -F.logsigmoid(-logits), -F.logsigmoid(logits))
    real = (tokens != PAD).float()
    return (nats * real).sum() / real.sum()


def by_two_classes(detector, tokens, chosen, sampled):
    text, written = tokens.clone(), iter(sampled.tolist())
    for row, place in chosen.nonzero().tolist():
        text[row, place] = next(written)
    logits = detector(text)
    labels = (text != tokens).long().masked_fill(tokens == PAD, -100)
    both = torch.stack([torch.zeros_like(logits), logits], dim=1)
    return F.cross_entropy(both, labels)


def by_weights(detector, tokens, chosen, sampled):
    replaced = tokens.clone()
    replaced[chosen] = sampled
    fake = torch.zeros(tokens.shape)
    fake[chosen] = (sampled != tokens[chosen]).float()
    weight = (tokens > PAD) / (tokens > PAD).sum()
    return F.binary_cross_entropy_with_logits(
        detector(replaced), fake, weight=weight, reduction="sum"
    )


def changing_tokens(detector, tokens, chosen, sampled):
    before = tokens.clone()
    tokens[chosen] = sampled
    return detection_loss(detector, before, chosen, sampled)


def by_columns(detector, tokens, chosen, sampled):
    replaced = tokens.T.clone().masked_scatter(chosen.T, sampled).T
    return detection_loss(detector, tokens, torch.ones_like(chosen), replaced.flatten())


def one_token_for_all(detector, tokens, chosen, sampled):
    return detection_loss(detector, tokens, chosen, sampled[:1].expand(len(sampled)))


def with_masks(detector, tokens, chosen, sampled):
    return with_changes(read=lambda replaced, tokens: tokens.masked_fill(chosen, MASK))(
        detector, tokens, chosen, sampled
    )


def mean_of_texts(detector, tokens, chosen, sampled):
    replaced = tokens.masked_scatter(chosen, sampled)
    nats = F.binary_cross_entropy_with_logits(
        detector(replaced), (replaced != tokens).float(), reduction="none"
    )
    real = tokens != PAD
    return ((nats * real).sum(1) / real.sum(1)).mean()


def divided_by_positions(detector, tokens, chosen, sampled):
    return detection_loss(detector, tokens, chosen, sampled) * (tokens != PAD).float().mean()


def without_pads(detector, tokens, chosen, sampled):
    return F.softplus(detector(tokens.masked_scatter(chosen, sampled)[tokens != PAD])).mean()


def from_probabilities(detector, tokens, chosen, sampled):
    replaced = tokens.masked_scatter(chosen, sampled)
    real = tokens != PAD
    shares = detector(replaced)[real].sigmoid()
    return F.binary_cross_entropy(shares, (replaced != tokens)[real].float())


def clamped(detector, *given):
    return detection_loss(lambda tokens: detector(tokens).clamp(-100, 100), *given)


def called_twice(detector, *given):
    return detection_loss(lambda tokens: (detector(tokens) + detector(tokens)) / 2, *given)


def without_sampled_pads(detector, tokens, chosen, sampled):
    replaced = tokens.masked_scatter(chosen, sampled)
    return with_changes(counts=lambda tokens, chosen: replaced != PAD)(
        detector, tokens, chosen, sampled
    )


def up_to_the_longest(detector, tokens, chosen, sampled):
    kept = (tokens != PAD).any(0)
    return detection_loss(detector, tokens[:, kept], chosen[:, kept], sampled)


def half_the_gradient(*given):
    loss = detection_loss(*given)
    return (loss + loss.detach()) / 2


def without_choice(detector, tokens, chosen, sampled):
    assert len(sampled)
    return detection_loss(detector, tokens, chosen, sampled)


def or_else(nothing):
    """The reference, or `nothing` if nothing is chosen."""
    return lambda *given: detection_loss(*given) if given[2].any() else nothing


test_spot_the_fake_right = accepts(
    "objectives.spot_the_fake", by_logsigmoid, by_two_classes, by_weights
)
test_spot_the_fake_wrong = rejects(
    "objectives.spot_the_fake",
    (lambda *given: print(), 1, "None (is a `return` missing?)"),
    (lambda *given: detection_loss(*given).item(), 1, "a float\nExpected: a tensor"),
    (lambda *given: detection_loss(*given).detach(), 1, "carries no gradient"),
    (with_changes(reduction="none"), 1, "One number for the whole batch"),
    (changing_tokens, 1, "Argument 2, `tokens`, after the call"),
    (without_pads, 1, "with their pads"),
    (lambda *given: detection_loss(*given) / torch.tensor(2).log(), 1, "ln 2 nats"),
    (with_masks, 2, "reads the text with the sampled tokens"),
    (one_token_for_all, 2, "in reading order"),
    (by_columns, 2, "from left to right"),
    (called_twice, 2, "The detector is called once"),
    (
        with_changes(counts=lambda tokens, chosen: ~chosen),
        *(3, "There are one and three of them"),
    ),
    (without_choice, 4, "AssertionError"),
    (or_else(torch.zeros((), requires_grad=True)), 4, "all tokens are original ones"),
    (or_else(0.0), 4, "all tokens are original ones"),
    (or_else(None), 4, "None (is a `return` missing?)"),
    (up_to_the_longest, 5, "with their pads"),
    (without_sampled_pads, 5, "the pad that it sampled is a replaced token"),
    (
        with_changes(counts=lambda tokens, chosen: tokens >= len(SPECIALS)),
        *(5, "Only `PAD` is padding"),
    ),
    (mean_of_texts, 5, "not text by text"),
    (divided_by_positions, 5, "out of the count"),
    (half_the_gradient, 6, "Is a part of the loss detached?"),
    (from_probabilities, 7, "takes the logits themselves"),
    (clamped, 7, "Do not limit the logits"),
)


def test_the_reference_is_the_loss_of_the_package():
    generator = generator_for(3)
    tokens = torch.randint(6, 60, (5, 12), generator=generator)
    tokens[1, 7:], tokens[4, 3:] = PAD, PAD
    objective = objectives.ReplacedTokens(probability=0.4)
    masked, _, chosen, draws = objective.batch(tokens, generator, 60)
    torch.manual_seed(0)
    model = objective.model(Config(60, 16, 2, 2, 32, 12)).eval()
    torch.nn.init.normal_(model.detector.weight)
    sampled = objectives.sample(model.generator_logits(masked, chosen), draws[chosen])
    mask = tokens != PAD

    def detector(tokens):
        return model.detector_logits(tokens, mask)

    replaced = tokens.masked_scatter(chosen, sampled)
    nats, targets = objectives.detection_loss(
        detector(replaced), replaced != tokens, padding_mask=mask
    )
    assert targets == mask.sum() == 46
    mine = detection_loss(detector, tokens, chosen, sampled)
    torch.testing.assert_close(mine, nats / targets)
