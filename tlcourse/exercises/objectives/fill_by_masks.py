"""Lesson 10: a masked language model writes, one mask at a time."""

import torch

from tlcourse.bpe import EOS, MASK, PAD, SPECIALS
from tlcourse.evaluation import fill_masks
from tlcourse.exercises.expect import CheckFailed, expect_shape, short
from tlcourse.exercises.looking._common import toy
from tlcourse.exercises.objectives._common import kind, with_model
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying

ENTRIES = 60  # of the vocabulary in the checks
LOST = 50  # what the models predict beside another mask

task = Exercise(
    __name__,
    number="10.2",
    title="Write with a model that fills gaps",
    difficulty=3,
    importance=3,
    minutes=10,
    hints=(
        "What happens `count` times? Put a `<mask>` at the end, run the model, and replace the "
        "`<mask>` by the token that it predicts there.",
        "`masked = torch.cat([tokens, torch.tensor([MASK])])` is the text with its mask, and "
        "`model(masked[None])[0, -1]` has the logits at the mask.",
        "`logits[len(SPECIALS):].argmax()` is the best of the ordinary tokens, counted from the "
        "first of them: add `len(SPECIALS)` to get its id.",
    ),
    imports="import torch\nfrom tlcourse.bpe import MASK, SPECIALS",
)


@task.reference
def write_with_masks(model, tokens, count):
    """(length,) ids to (length + count,): each new one is predicted at a `<mask>` at the end."""
    for _ in range(count):
        masked = torch.cat([tokens, torch.tensor([MASK])])
        logits = model(masked[None])[0, -1]
        new = len(SPECIALS) + logits[len(SPECIALS) :].argmax()
        tokens = torch.cat([tokens, new[None]])
    return tokens


@task.truth
def by_counting(tokens, count, step=1, likelier=()):
    """The models count up from the last token."""
    last = tokens[-1:].tolist()
    return tokens.tolist() + [last[0] + step * (number + 1) for number in range(count)]


def counting(read, step, likelier):
    """A model that predicts, at a mask, the token before it plus `step`, and LOST beside a mask.

    At all other positions it predicts the token that is there. The ids `likelier` are more probable
    than anything else, and then all logits are far below 0. It appends what it reads to `read`.
    """

    def model(tokens):
        why = "The model takes a batch: `masked[None]` is a batch of one text."
        expect_shape(tokens, (1, tokens.numel()), "what the model reads", why)
        ids = tokens[0].tolist()
        read.append(ids)
        logits = torch.full((1, len(ids), ENTRIES), -30.0)
        for place, token in enumerate(ids):
            before = ids[place - 1] if place else MASK
            filled = LOST if before == MASK else before + step
            logits[0, place, filled if token == MASK else token] = 10.0
        if likelier:
            logits -= 20_000
            logits[..., list(likelier)] = -19_980.0
        return logits

    return model


def as_ids(got):
    """The returned ids as a list; raises CheckFailed unless they are a tensor (any length,)."""
    found = kind(got)
    if len(found) != 2 or found[0] != "integers":
        came = found[0] if got is None else short(got)
        due = "a tensor of ids of shape (length + count,)"
        raise CheckFailed(check="what your function returns", yours=came, expected=due)
    return got.tolist()


def written(candidate, tokens, count, step=1, likelier=()):
    """The ids that the candidate returns, for a model that counts."""
    return as_ids(with_model(candidate, counting([], step, likelier), tokens, count))


def reads(candidate, tokens, count):
    """What the model reads, step by step."""
    read = []
    with_model(candidate, counting(read, 1, ()), tokens, count)
    return read


def of_transformer(candidate, tokens, count):
    """The ids that the candidate returns, for a small Transformer."""
    model = toy(vocabulary_size=ENTRIES, causal=False, max_length=16)
    with torch.no_grad():
        return as_ids(with_model(candidate, model, tokens, count))


def by_package(model, tokens, count):
    ids = tokens.tolist()
    for _ in range(count):
        found = fill_masks(model, [*ids, MASK], top=ENTRIES)[-1]
        ids.append(next(token for token, _ in found if token >= len(SPECIALS)))
    return torch.tensor(ids)


task.measure = written


def drawn(length, seed):
    """Random ordinary ids, below LOST for all that is counted up from them."""
    generator = torch.Generator().manual_seed(varying(seed))
    return torch.randint(len(SPECIALS), 40, (length,), generator=generator)


def text(*ids):
    return torch.tensor(ids)


COUNTS = "for a model that predicts, at a `<mask>`, the token before it plus 1"
task.stage(
    "one token",
    case(f"the result {COUNTS}, tokens=[7, 20], count=1", text(7, 20), 1),
    case(f"the result {COUNTS}, 4 tokens, count=1", drawn(4, 0), 1),
    hint=f"Append one `<mask>`, whose id is {MASK}, for each of the `count` new tokens in turn. "
    "The largest logit at *its* position, the last one, is that of the token that replaces it.",
)
task.stage(
    "several tokens",
    case(f"the result {COUNTS}, tokens=[7, 20], count=3", text(7, 20), 3),
    case(
        f"what the model reads, step by step, for tokens=[7, 20], count=3; `<mask>` is {MASK}",
        *(text(7, 20), 3),
        measure=reads,
        expected=[[7, 20, MASK], [7, 20, 21, MASK], [7, 20, 21, 22, MASK]],
    ),
    case(f"the result {COUNTS}, 3 tokens, count=8", drawn(3, 1), 8),
    hint="Each step begins with all tokens so far, the new ones too, has one `<mask>`, and calls "
    "the model once.",
)
ORDINARY = (
    "Compare only ordinary tokens, whose ids begin at `len(SPECIALS)`: leave the special ones out, "
    "or set their logits to `-torch.inf`. A number such as 0 or -100 may be larger than all others."
)
task.stage(
    "ordinary tokens only",
    *(
        case(
            f"the result for a model that prefers {SPECIALS[special]} everywhere, tokens=[7, 20], "
            "count=2",
            *(text(7, 20), 2, 1, (special,)),
        )
        for special in (EOS, MASK, PAD)
    ),
    case(
        "the result for a model that prefers all special tokens, tokens=[7, 20], count=2",
        *(text(7, 20), 2, 1, range(len(SPECIALS))),
    ),
    case(
        f"the result for a model that predicts {len(SPECIALS)}, tokens=[{EOS}], count=1",
        *(text(EOS), 1, 1, (MASK,)),
        hint=f"{len(SPECIALS)} is the id of the first ordinary token: it is not excluded.",
    ),
    case(
        f"the result for a model of {ENTRIES} tokens that predicts the last of them, {ENTRIES - 1}",
        *(text(ENTRIES - 2), 1),
        hint="The last id of the vocabulary is an ordinary token, too: `logits[len(SPECIALS):]` "
        "contains it.",
    ),
    hint=ORDINARY,
)
task.stage(
    "any text",
    case("no new token at all", text(7, 20), 0),
    case(f"the result {COUNTS}, a text of one token, count=2", drawn(1, 2), 2),
    case(
        f"the result {COUNTS}, tokens=[7, {MASK}, 30], count=2",
        *(text(7, MASK, 30), 2),
        hint="Read the logits at the last position. A `<mask>` that was in the text before stays "
        "there, and its prediction is not needed.",
    ),
    case("the same for the token before it minus 2, 3 tokens, count=4", drawn(3, 3) + 10, 4, -2),
    hint="`tokens` may have any length, and `count` may be 0.",
)
task.stage(
    "a Transformer",
    case("the ids that a small Transformer writes after 3 tokens", drawn(3, 4), 6),
    case("the ids that a small Transformer writes after 6 tokens", drawn(6, 5), 9),
    measure=of_transformer,
    expected=lambda *given: of_transformer(by_package, *given),
    hint="Run the model once for each new token, and take the ordinary token with the largest "
    "logit at the mask.",
)


def with_mask(tokens):
    return torch.cat([tokens, text(MASK)])


def picking(best, place=-1):
    """The reference with another choice, `best(logits)`, of the logits at `place`."""

    def wrong(model, tokens, count):
        for _ in range(count):
            logits = model(with_mask(tokens)[None])[0, place]
            tokens = torch.cat([tokens, best(logits)[None]])
        return tokens

    return wrong


def ordinary(logits):
    return len(SPECIALS) + logits[len(SPECIALS) :].argmax()


def all_at_once(model, tokens, count):
    logits = model(torch.cat([tokens, torch.full((count,), MASK)])[None])[0, len(tokens) :]
    return torch.cat([tokens, len(SPECIALS) + logits[:, len(SPECIALS) :].argmax(-1)])


def keeping_masks(model, tokens, count):
    for _ in range(count):
        tokens = with_mask(tokens)
        tokens = torch.cat([tokens, ordinary(model(tokens[None])[0, -1])[None]])
    return tokens


task.mistakes(
    (
        "This is the prediction at the last token of the text, where a next-token model makes it. "
        "A masked model predicts a missing token at the position of its `<mask>`.",
        picking(ordinary, place=-2),
    ),
    (
        "All masks are filled at once here, so each token is predicted without the ones before it. "
        "Append one `<mask>`, fill it, and only then append the next.",
        all_at_once,
    ),
    (
        "The `<mask>` is still in the text, and the new token is behind it. The new token has to "
        "replace the `<mask>`.",
        keeping_masks,
    ),
    (
        "A special token is chosen here. Exclude the ids below `len(SPECIALS)` before you take the "
        "largest logit.",
        picking(lambda logits: logits.argmax()),
    ),
    (
        "This is the position among the ordinary tokens, which begin at `len(SPECIALS)`: add it to "
        "get the id.",
        picking(lambda logits: logits[len(SPECIALS) :].argmax()),
    ),
    (
        "Only the new tokens are returned. Return the text with them at its end.",
        lambda model, tokens, count: write_with_masks(model, tokens, count)[len(tokens) :],
    ),
)
