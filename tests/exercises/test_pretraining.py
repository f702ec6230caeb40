import math
import re
import string

import numpy as np
import torch

from tests.exercises.standard import accepts, rejects
from tlcourse.exercises.pretraining import mask_tokens, word_perplexity_and_bits


def nothing(*arguments): ...  # your code here


# mask_tokens


def by_where(tokens, draw, kind, noise):
    chosen = torch.logical_and(tokens > 5, draw < 0.15)
    changed = torch.where(kind < 0.8, torch.full_like(tokens, 4), tokens)
    changed = torch.where(kind >= 0.9, noise, changed)
    return torch.where(chosen, changed, tokens), chosen


def by_loop(tokens, draw, kind, noise):
    corrupted, chosen = tokens.tolist(), torch.zeros(tokens.shape, dtype=torch.bool)
    for row, place in np.ndindex(*tokens.shape):
        if tokens[row, place] in range(6) or draw[row, place] >= 0.15:
            continue
        chosen[row, place] = True
        if kind[row, place] < 0.8:
            corrupted[row][place] = 4
        elif kind[row, place] >= 0.9:
            corrupted[row][place] = noise[row, place].item()
    return torch.tensor(corrupted), chosen


def in_place(tokens, draw, kind, noise):
    corrupted, chosen = mask_tokens(tokens, draw, kind, noise)
    tokens[:] = corrupted
    return tokens, chosen


def only_the_tokens(tokens, draw, kind, noise):
    return mask_tokens(tokens, draw, kind, noise)[0]


def chosen_as_numbers(tokens, draw, kind, noise):
    corrupted, chosen = mask_tokens(tokens, draw, kind, noise)
    return corrupted, chosen.long()


def takes_the_others(tokens, draw, kind, noise):
    return mask_tokens(tokens, 0.3 - draw, kind, noise)


def takes_specials(tokens, draw, kind, noise):
    corrupted, chosen = tokens.clone(), draw < 0.15
    corrupted[chosen & (kind < 0.8)] = 4
    corrupted[chosen & (kind >= 0.9)] = noise[chosen & (kind >= 0.9)]
    return corrupted, chosen


def masks_all(tokens, draw, kind, noise):
    return mask_tokens(tokens, draw, torch.zeros_like(kind), noise)


def other_way_round(tokens, draw, kind, noise):
    kind = torch.where(kind < 0.8, kind, 1.8 - kind)
    return mask_tokens(tokens, draw, kind, noise)


def forgets_what_stays(tokens, draw, kind, noise):
    corrupted, chosen = mask_tokens(tokens, draw, kind, noise)
    return corrupted, corrupted != tokens


def swaps_everywhere(tokens, draw, kind, noise):
    corrupted, chosen = mask_tokens(tokens, draw, kind, noise)
    ordinary = tokens > 5
    return torch.where((kind >= 0.9) & ordinary, noise, corrupted), chosen


def one_random_token(tokens, draw, kind, noise):
    return mask_tokens(tokens, draw, kind, torch.full_like(noise, int(noise.flatten()[-1])))


test_mask_tokens_right = accepts("pretraining.mask_tokens", by_where, by_loop)
test_mask_tokens_wrong = rejects(
    "pretraining.mask_tokens",
    (nothing, 0, "Not solved yet"),
    (in_place, 1, "changed argument 1"),
    (only_the_tokens, 1, "expected two tensors"),
    (chosen_as_numbers, 1, "expected a boolean mask"),
    (takes_the_others, 2, "the 85 % that are to be left alone"),
    (takes_specials, 2, "Only ordinary tokens may be"),
    (masks_all, 3, "All became <mask>"),
    (other_way_round, 3, "the other way"),
    (forgets_what_stays, 3, "must still be predicted"),
    (swaps_everywhere, 2, "chosen positions only"),
    (one_random_token, 4, "of a batch: (corrupted, chosen)"),
)


# word_perplexity_and_bits


def by_bits(nats, text):
    bits = math.fsum(nats) / math.log(2)
    units = text.replace("\n", " \u23ce ").split()
    return 2 ** (bits / len(units)), bits / sum(len(char.encode()) for char in text)


def by_numpy(nats, text):
    words = sum(len(line.split()) + 1 for line in text.split("\n")) - 1
    total = np.sum(nats)
    return np.exp(total / words), total / (np.log(2) * len(bytes(text, "utf-8")))


def token_perplexity(nats, text):
    return math.exp(sum(nats) / len(nats)), word_perplexity_and_bits(nats, text)[1]


def without_line_ends(nats, text):
    return math.exp(sum(nats) / len(text.split())), word_perplexity_and_bits(nats, text)[1]


def splits_at_spaces(nats, text):
    words = len(text.rstrip("\n").split(" ")) + text.count("\n")
    return math.exp(sum(nats) / words), word_perplexity_and_bits(nats, text)[1]


def nats_a_word(nats, text):
    perplexity, bits = word_perplexity_and_bits(nats, text)
    return math.log(perplexity), bits


def two_to_the_nats(nats, text):
    perplexity, bits = word_perplexity_and_bits(nats, text)
    return 2 ** math.log(perplexity), bits


def nats_a_byte(nats, text):
    perplexity, bits = word_perplexity_and_bits(nats, text)
    return perplexity, bits * math.log(2)


def bits_a_character(nats, text):
    return word_perplexity_and_bits(nats, text)[0], sum(nats) / math.log(2) / len(text)


def only_one(nats, text):
    return word_perplexity_and_bits(nats, text)[0]


test_word_perplexity_right = accepts("pretraining.word_perplexity_and_bits", by_bits, by_numpy)
test_word_perplexity_wrong = rejects(
    "pretraining.word_perplexity_and_bits",
    (nothing, 0, "Not solved yet"),
    (only_one, 1, "expected two numbers"),
    (nats_a_word, 1, "sure and right"),
    (token_perplexity, 2, "That is the token perplexity"),
    (without_line_ends, 2, "The line end is missing"),
    (two_to_the_nats, 2, "2 to the power belongs to bits"),
    (splits_at_spaces, 2, "White space only separates words"),
    (nats_a_byte, 3, "a bit is ln 2"),
    (bits_a_character, 3, "bits a character"),
)


# Written by someone who saw only the text of the exercises.


def by_arithmetic(tokens, draw, kind, noise):
    chosen = draw.lt(0.15) & tokens.ge(6)
    masked, swapped = (chosen & kind.lt(0.8)).long(), (chosen & kind.ge(0.9)).long()
    return tokens * (1 - masked - swapped) + 4 * masked + noise * swapped, chosen


def by_nesting(tokens, draw, kind, noise):
    chosen = torch.logical_and(draw < 0.15, ~(tokens < 6))
    changed = torch.where(kind < 0.8, 4, torch.where(kind < 0.9, tokens, noise))
    return [torch.where(chosen, changed, tokens), chosen]


def _with(tokens, chosen, masked, swapped, noise):
    return torch.where(swapped, noise, torch.where(masked, 4, tokens)), chosen


def chosen_up_to_the_border(tokens, draw, kind, noise):
    chosen = (draw <= 0.15) & (tokens >= 6)
    return _with(tokens, chosen, chosen & (kind < 0.8), chosen & (kind >= 0.9), noise)


def kinds_on_the_other_side(tokens, draw, kind, noise):
    chosen = (draw < 0.15) & (tokens >= 6)
    return _with(tokens, chosen, chosen & (kind <= 0.8), chosen & (kind > 0.9), noise)


def first_ordinary_id_missed(tokens, draw, kind, noise):
    chosen = (draw < 0.15) & (tokens > 6)
    return _with(tokens, chosen, chosen & (kind < 0.8), chosen & (kind >= 0.9), noise)


def kinds_everywhere(tokens, draw, kind, noise):
    chosen = (draw < 0.15) & (tokens >= 6)
    return _with(tokens, chosen, kind < 0.8, kind >= 0.9, noise)


def draws_again(tokens, draw, kind, noise):
    return mask_tokens(tokens, torch.rand(tokens.shape), torch.rand(tokens.shape), noise)


def other_order(tokens, draw, kind, noise):
    return mask_tokens(tokens, draw, kind, noise)[::-1]


test_outside_mask_tokens_right = accepts("pretraining.mask_tokens", by_arithmetic, by_nesting)
test_outside_mask_tokens_wrong = rejects(
    "pretraining.mask_tokens",
    (chosen_up_to_the_border, 2, "Below is `<`"),
    (kinds_on_the_other_side, 3, "0.9 or higher is `kind >= 0.9`"),
    (first_ordinary_id_missed, 2, "6 is the first that is"),
    (kinds_everywhere, 2, "combine the conditions with `&`"),
    (draws_again, 1, "the same arguments gave two answers"),
    (other_order, 1, "`return corrupted, chosen`, in this order"),
)


def by_tensors(nats, text):
    units = len(text.replace("\n", " <eos> ").split())
    total = torch.tensor(nats).sum()
    return (total / units).exp(), total / math.log(2) / len(bytes(text, "utf-8"))


def by_pattern(nats, text):
    units, total = len(re.findall(r"\S+|\n", text)), math.fsum(nats)
    return [math.e ** (total / units), math.log2(math.e) * total / len(text.encode())]


def mean_of_exponentials(nats, text):
    units = len(text.split()) + text.count("\n")
    return sum(map(math.exp, nats)) / units, word_perplexity_and_bits(nats, text)[1]


def bits_a_token(nats, text):
    return word_perplexity_and_bits(nats, text)[0], sum(nats) / math.log(2) / len(nats)


def bits_of_the_text(nats, text):
    return word_perplexity_and_bits(nats, text)[0], sum(nats) / math.log(2)


def lines_not_line_ends(nats, text):
    units = len(text.split()) + len(text.splitlines())
    return math.exp(sum(nats) / units), word_perplexity_and_bits(nats, text)[1]


def bits_first(nats, text):
    return word_perplexity_and_bits(nats, text)[::-1]


test_outside_word_perplexity_right = accepts(
    "pretraining.word_perplexity_and_bits", by_tensors, by_pattern
)
test_outside_word_perplexity_wrong = rejects(
    "pretraining.word_perplexity_and_bits",
    (lines_not_line_ends, 2, "count the characters"),
    (mean_of_exponentials, 2, "exp comes last"),
    (bits_a_token, 3, "These are bits a token"),
    (bits_of_the_text, 3, "bits of the whole text"),
    (bits_first, 1, "First the perplexity"),
)


# What the checks once let through, or answered with the wrong cause.


def as_array(nats, text):
    return np.array(word_perplexity_and_bits(nats, text))


def as_tensor(nats, text):
    return torch.tensor(word_perplexity_and_bits(nats, text))


def _divided_by(count):
    """A candidate that divides by `count(text)` words and line ends; its bits are right."""

    def function(nats, text):
        return math.exp(sum(nats) / count(text)), word_perplexity_and_bits(nats, text)[1]

    return function


def _without_punctuation(text):
    return text.translate(str.maketrans("", "", string.punctuation))


words_of_letters = _divided_by(lambda text: len(re.findall(r"\w+|\n", text)))
drops_punctuation = _divided_by(lambda text: len(re.findall(r"\S+|\n", _without_punctuation(text))))
blanks_only = _divided_by(lambda text: len(re.findall(r"[^ \n]+|\n", text)))
tabs_as_line_ends = _divided_by(lambda text: len(text.split()) + len(re.findall(r"[\n\t]", text)))
returns_as_line_ends = _divided_by(lambda text: len(text.split()) + len(re.findall("[\n\r]", text)))
lines_by_splitlines = _divided_by(
    lambda text: len(text.split()) + len((text + "x").splitlines()) - 1
)
pieces_of_lines = _divided_by(lambda text: len(text.split()) + len(text.split("\n")))
pieces_of_words = _divided_by(lambda text: len(re.split(r"\s+", text)) + text.count("\n"))


def _bits_as(change):
    """A candidate whose perplexity is right; `change(bits, text)` are its bits per byte."""

    def function(nats, text):
        perplexity, bits = word_perplexity_and_bits(nats, text)
        return perplexity, change(bits, text)

    return function


bytes_without_line_end = _bits_as(
    lambda bits, text: bits * len(text.encode()) / len(text.strip().encode())
)
an_eighth = _bits_as(lambda bits, text: bits / 8)
eight_times = _bits_as(lambda bits, text: bits * 8)


def as_text(nats, text):
    return tuple(str(value) for value in word_perplexity_and_bits(nats, text))


def three_in_an_array(nats, text):
    return np.array([*word_perplexity_and_bits(nats, text), 0.0])


test_word_perplexity_other_pairs = accepts(
    "pretraining.word_perplexity_and_bits", as_array, as_tensor
)
test_word_perplexity_causes = rejects(
    "pretraining.word_perplexity_and_bits",
    (as_text, 1, "expected two numbers"),
    (three_in_an_array, 1, "expected two numbers"),
    (pieces_of_lines, 2, "an empty piece"),
    (pieces_of_words, 2, "an empty piece"),
    (words_of_letters, 2, "whatever stands between white space"),
    (drops_punctuation, 2, "whatever stands between white space"),
    (blanks_only, 2, "are white space and part two words"),
    (tabs_as_line_ends, 2, "But none of them is the character `\\n`"),
    (returns_as_line_ends, 2, "But none of them is the character `\\n`"),
    (lines_by_splitlines, 2, "But none of them is the character `\\n`"),
    (bytes_without_line_end, 3, "The line end is a byte, too"),
    (an_eighth, 3, "no division by 8 is due"),
    (eight_times, 3, "8 bits a byte are not asked about"),
)


def _thresholds(number):
    """The exercise solved with `number` of 0.15, 0.8 and 0.9."""

    def function(tokens, draw, kind, noise):
        chosen = (draw < number(0.15)) & (tokens > 5)
        masked, swapped = chosen & (kind < number(0.8)), chosen & (kind >= number(0.9))
        return _with(tokens, chosen, masked, swapped, noise)

    return function


thresholds_as_float32 = _thresholds(torch.tensor)
thresholds_as_float32_row = _thresholds(lambda value: torch.tensor([value]))
thresholds_as_float64_row = _thresholds(lambda value: torch.tensor([value], dtype=torch.float64))


def up_to_the_border_of_float32(tokens, draw, kind, noise):
    chosen = (draw <= torch.tensor(0.15)) & (tokens > 5)
    return _with(tokens, chosen, chosen & (kind < 0.8), chosen & (kind >= 0.9), noise)


def swapped_above_the_border(tokens, draw, kind, noise):
    chosen = (draw < 0.15) & (tokens > 5)
    return _with(tokens, chosen, chosen & (kind < 0.8), chosen & (kind > 0.9), noise)


def through_numpy(tokens, draw, kind, noise):
    return tuple(result.numpy() for result in mask_tokens(tokens, draw, kind, noise))


def corrupted_through_numpy(tokens, draw, kind, noise):
    corrupted, chosen = mask_tokens(tokens, draw, kind, noise)
    return corrupted.numpy(), chosen


def only_the_masked_are_targets(tokens, draw, kind, noise):
    corrupted, chosen = mask_tokens(tokens, draw, kind, noise)
    return corrupted, chosen & (kind < 0.8)


def chosen_from_the_corrupted(tokens, draw, kind, noise):
    corrupted, chosen = mask_tokens(tokens, draw, kind, noise)
    return corrupted, (draw < 0.15) & (corrupted > 5)


def draw_once_more(tokens, draw, kind, noise):
    return mask_tokens(tokens, draw, draw, noise)


def draw_in_shares(tokens, draw, kind, noise):
    return mask_tokens(tokens, draw, draw / 0.15, noise)


test_mask_tokens_other_thresholds = accepts(
    "pretraining.mask_tokens",
    thresholds_as_float32,
    thresholds_as_float32_row,
    thresholds_as_float64_row,
)
test_mask_tokens_causes = rejects(
    "pretraining.mask_tokens",
    (through_numpy, 1, "`corrupted` is a NumPy array; expected a tensor"),
    (corrupted_through_numpy, 1, "`corrupted` is a NumPy array; expected a tensor"),
    (up_to_the_border_of_float32, 2, "Below is `<`"),
    (swapped_above_the_border, 3, "0.9 or higher is `kind >= 0.9`"),
    (chosen_from_the_corrupted, 2, "computed from the corrupted tokens?"),
    (only_the_masked_are_targets, 2, "`chosen` does not depend on `kind`"),
    (draw_once_more, 3, "`kind`, not `draw` once more"),
    (draw_in_shares, 3, "`kind`, not `draw` once more"),
)
