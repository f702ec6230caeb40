"""Lesson 03: the loop that writes. The models count, so the text shows what they have read."""

import torch
from torch import Tensor, nn

from tlcourse import evaluation
from tlcourse.bpe import EOS
from tlcourse.exercises.expect import CheckFailed, expect_equal, expect_shape, expect_unchanged
from tlcourse.exercises.pretraining._common import told
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying
from tlcourse.transformer import Config, Transformer

ENTRIES = 30  # of the vocabulary in the checks


class Counting(nn.Module):
    """Predicts the newest token plus `step`, and records everything it reads."""

    def __init__(self, step=1, max_length=100):
        super().__init__()
        self.config = Config(ENTRIES, 8, 1, 1, max_length=max_length)
        self.size = nn.Parameter(torch.ones(()))
        self.step, self.read = step, []

    def forward(self, tokens):
        self.read.append(tokens.tolist())
        return self.size * torch.eye(ENTRIES)[(tokens + self.step) % ENTRIES]


def likeliest(logits):
    """The token; raises CheckFailed unless `logits` are those of one position, without a graph."""
    what = "the logits of the last position, which `pick` gets"
    expect_shape(logits, (ENTRIES,), what, "Take `[0, -1]` of the output.")
    why = "The graphs of all steps stay in memory: write the loop inside `with torch.no_grad():`."
    expect_equal(logits.requires_grad, False, "whether they carry a gradient", why)
    return int(logits.argmax())


def of_model(candidate, model, tokens, count, pick=likeliest):
    """The list of ids that the candidate returns."""
    got = expect_unchanged(
        lambda _, tokens: candidate(model, tokens, count, pick), "a model", tokens
    )
    if not isinstance(got, list | tuple | Tensor):
        due = "a list of ids"
        raise CheckFailed(check="what your function returns", yours=told(got), expected=due)
    return [int(token) for token in got]


def written(candidate, tokens, count, step=1):
    """The new ids, of a model that counts."""
    return of_model(candidate, Counting(step), tokens, count)


def read(candidate, tokens, count, max_length=100):
    """The inputs of the model, step by step."""
    model = Counting(max_length=max_length)
    candidate(model, tokens, count, likeliest)
    return model.read


def of_transformer(candidate, tokens, count):
    """The new ids of a small Transformer."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(varying(3))
        model = Transformer(Config(ENTRIES, 8, 2, 2, 16, max_length=6)).eval()
        for parameter in model.parameters():
            parameter.data += 0.5 * torch.randn_like(parameter)

    def pick(logits):
        logits[:EOS] = -torch.inf  # the package never draws the other specials
        return likeliest(logits)

    return of_model(candidate, model, tokens, count, pick)


def by_package(model, tokens, count, pick):
    return evaluation.generate(model, tokens, count, temperature=0)


task = Exercise(
    __name__,
    number="3.6",
    title="Write a text",
    difficulty=2,
    importance=4,
    minutes=10,
    hints=(
        "Start with a copy, `tokens = list(tokens)`. What happens `count` times?",
        "`window = torch.tensor([tokens[-model.config.max_length:]], device=…)` is a batch of one "
        "text; `model(window)[0, -1]` are the logits at its last position.",
        "`new = pick(logits)`, `tokens.append(new)`, and `break` if `new == EOS`, all inside `with "
        "torch.no_grad():`. The new ids are `tokens[start:]`, where `start` is the length at the "
        "beginning.",
    ),
    imports="import math\nimport torch\nfrom torch import nn\n"
    "from torch.nn import functional as F\nfrom tlcourse.bpe import EOS",
    measure=written,
)


@task.reference
def generate(model, tokens, count, pick):
    """Up to `count` new ids after `tokens`; ends with `<eos>` if that is picked."""
    device, start = next(model.parameters()).device, len(tokens)
    tokens = list(tokens)
    with torch.no_grad():
        for _ in range(count):
            window = torch.tensor([tokens[-model.config.max_length :]], device=device)
            new = pick(model(window)[0, -1])
            tokens.append(new)
            if new == EOS:
                break
    return tokens[start:]


task.stage(
    "what is new",
    case(
        "the result for a model that counts up, tokens=[7, 20], count=3",
        *([7, 20], 3),
        expected=[21, 22, 23],
    ),
    hint="Return `count` new tokens, each picked from the logits after all tokens so far.",
)
task.stage(
    "what the model reads",
    case(
        "the inputs of the model, step by step, for tokens=[7, 20], count=3",
        *([7, 20], 3),
        expected=[[[7, 20]], [[7, 20, 21]], [[7, 20, 21, 22]]],
    ),
    measure=read,
    hint="The input is a batch of one text, (1, length): the start and all tokens added so far.",
)
task.stage(
    "the end of the text",
    case(
        f"the result for a model that counts down, tokens=[10], count=20; `<eos>` is {EOS}",
        *([10], 20, -1),
        expected=[9, 8, 7, 6, 5],
        hint="The text ends with `<eos>`, which is its last token.",
    ),
    case(
        "the result for a start of `<eos>`",
        *([EOS], 2),
        expected=[6, 7],
        hint="Only an `<eos>` that was picked ends the text, because articles begin after one.",
    ),
)
task.stage(
    "no more than fits",
    case(
        "the inputs of the model for config.max_length=3, tokens=[6, 7, 8, 9, 10], count=3",
        *([6, 7, 8, 9, 10], 3, 3),
        expected=[[[8, 9, 10]], [[9, 10, 11]], [[10, 11, 12]]],
    ),
    measure=read,
    hint="The model reads only the last `max_length` tokens.",
)
task.stage(
    "a Transformer",
    case("the ids that a small Transformer writes after [11, 25]", [11, 25], 12),
    measure=of_transformer,
    expected=lambda *given: of_transformer(by_package, *given),
    hint="The expected ids are those of the package's loop. Do you call `pick` once per token?",
)


def writing(logits_of):
    """An answer that picks from other logits: `logits_of(model, tokens)`."""

    def answer(model, tokens, count, pick):
        start, tokens = len(tokens), list(tokens)
        with torch.no_grad():
            for _ in range(count):
                tokens.append(pick(logits_of(model, tokens)))
                if tokens[-1] == EOS:
                    break
        return tokens[start:]

    return answer


def reads_the_first(model, tokens):
    return model(torch.tensor([tokens[: model.config.max_length]]))[0, -1]


task.mistakes(
    (
        "The old tokens are returned, too: return only those that were added.",
        lambda model, tokens, *rest: [*tokens, *generate(model, tokens, *rest)],
    ),
    (
        "This code picks from the logits of the first position: take those of the last one, "
        "`[0, -1]`.",
        writing(lambda model, tokens: model(torch.tensor([tokens]))[0, 0]),
    ),
    (
        "This code reads the first tokens, but what comes next depends on the last ones: slice "
        "with `tokens[-model.config.max_length:]`.",
        writing(reads_the_first),
    ),
)
