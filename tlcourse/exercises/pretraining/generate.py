"""Lesson 03: the loop that writes. The models count, so that what they read shows in the text."""

import torch
from torch import Tensor, nn

from tlcourse import evaluation
from tlcourse.bpe import EOS
from tlcourse.exercises.expect import CheckFailed, short
from tlcourse.exercises.task import Exercise
from tlcourse.transformer import Config, Transformer

ENTRIES = 30  # of the vocabulary in the checks

task = Exercise(
    __name__,
    number="3.6",
    title="Write a text",
    difficulty=2,
    minutes=10,
    hints=(
        "start with a copy, `tokens = list(tokens)`. What happens `count` times?",
        "`window = torch.tensor([tokens[-model.config.max_length:]], device=…)` is a batch of one "
        "text; `model(window)[0, -1]` are the logits at its last position.",
        "`new = pick(logits)`, `tokens.append(new)`, and `break` if `new == EOS`. All of it stands "
        "in a `with torch.no_grad():`; what is new is `tokens[start:]`, with `start` the length at "
        "the beginning.",
    ),
    imports="import math\nimport torch\nfrom torch import nn\n"
    "from torch.nn import functional as F\nfrom tlcourse.bpe import EOS",
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


@task.right
@torch.no_grad()
def with_a_tensor(model, tokens, count, pick):
    text = torch.tensor([tokens], device=next(model.parameters()).device)
    new = []
    while len(new) < count and EOS not in new:
        scores = model(text[:, -model.config.max_length :])
        new.append(int(pick(scores[:, -1].squeeze(0))))
        text = torch.cat([text, text.new_tensor([[new[-1]]])], dim=1)
    return new


@task.right
def by_recursion(model, tokens, count, pick):
    if count == 0:
        return []
    window = torch.as_tensor(tokens[-model.config.max_length :])[None]
    new = pick(model(window.to(next(model.parameters()).device)).detach()[0][-1])
    rest = [] if new == EOS else by_recursion(model, [*tokens, new], count - 1, pick)
    return [new, *rest]


class Counting(nn.Module):
    """The next token is the newest plus `step`; keeps what it reads."""

    def __init__(self, step: int = 1, max_length: int = 100):
        super().__init__()
        self.config = Config(ENTRIES, 8, 1, 1, max_length=max_length)
        self.size = nn.Parameter(torch.ones(()))
        self.step, self.read = step, []

    def forward(self, tokens):
        self.read.append(tokens.tolist())
        return self.size * torch.eye(ENTRIES)[(tokens + self.step) % ENTRIES]


def likeliest(logits: Tensor) -> int:
    """Raises CheckFailed where it is not given the logits of one position, without a graph."""
    if tuple(getattr(logits, "shape", ())) != (ENTRIES,):
        came = tuple(logits.shape) if hasattr(logits, "shape") else short(logits)
        raise CheckFailed(
            f"`pick` was given {came}; expected the logits of the last position, ({ENTRIES},): "
            "`[0, -1]` of what the model gives."
        )
    if logits.requires_grad:
        raise CheckFailed(
            "the logits carry a gradient, so the graphs of all steps are kept: write the loop in "
            "`with torch.no_grad():`."
        )
    return int(logits.argmax())


def written(candidate, tokens, count, step=1):
    """What is new, of a model that counts."""
    handed = list(tokens)
    got = candidate(Counting(step), handed, count, likeliest)
    if handed != tokens:
        raise CheckFailed("your function changed `tokens`, which it was given: `tokens = list(tokens)`.")
    return numbers(got)


def numbers(got) -> list[int]:
    if isinstance(got, Tensor):
        got = got.tolist()
    if not isinstance(got, list | tuple):
        came = "None (is a `return` missing?)" if got is None else short(got)
        raise CheckFailed(f"expected a list of ids; got {came}.")
    return [int(each) for each in got]


def read_by(candidate, tokens, count, max_length):
    """All that the model was given, step by step."""
    model = Counting(max_length=max_length)
    candidate(model, list(tokens), count, likeliest)
    return model.read


@task.stage("what is new")
def new_tokens(candidate):
    task.observe(
        candidate, written, [7, 20], 3, gives=[21, 22, 23],
        what="a model that counts up, tokens=[7, 20], count=3: the result",
        likely="Three new tokens, those of the last position.",
    )  # fmt: skip
    task.observe(
        candidate, written, [12], 0, gives=[], what="count=0: the result", likely="Nothing is new.",
    )  # fmt: skip


@task.stage("what the model reads")
def reads(candidate):
    task.observe(
        candidate, read_by, [7, 20], 3, 100, gives=[[[7, 20]], [[7, 20, 21]], [[7, 20, 21, 22]]],
        what="tokens=[7, 20], count=3: what the model was given, step by step,",
        likely="A batch of one text, (1, length): the start and all that was added.",
    )  # fmt: skip


@task.stage("the end of the text")
def end(candidate):
    task.observe(
        candidate, written, [10], 20, -1, gives=[9, 8, 7, 6, 5],
        what=f"a model that counts down, tokens=[10], count=20, `<eos>` is {EOS}: the result",
        likely="The text is over after `<eos>`, which is its last token.",
    )  # fmt: skip
    task.observe(
        candidate, written, [EOS], 2, gives=[6, 7], what="a start of `<eos>`: the result",
        likely="Only an `<eos>` that was picked ends the text; articles begin after one.",
    )  # fmt: skip


@task.stage("no more than fits")
def window(candidate):
    gives = [[[8, 9, 10]], [[9, 10, 11]], [[10, 11, 12]]]
    task.observe(
        candidate, read_by, [6, 7, 8, 9, 10], 3, 3, gives=gives,
        what="model.config.max_length=3, tokens=[6, 7, 8, 9, 10]: what the model was given",
        likely="It reads the last `max_length` tokens, no more.",
    )  # fmt: skip


@task.stage("a Transformer")
def transformer(candidate):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        model = Transformer(Config(ENTRIES, 8, 2, 2, 16, max_length=6)).eval()
        for parameter in model.parameters():
            parameter.data += 0.5 * torch.randn_like(parameter)

    def pick(logits):
        logits[:EOS] = -torch.inf  # the package never draws the other specials
        return likeliest(logits)

    right = evaluation.generate(model, [11, 25], 12, temperature=0)
    got = numbers(candidate(model, [11, 25], 12, pick))
    if got != right:
        raise CheckFailed(f"a small Transformer wrote {got}; the package's loop writes {right}.")


def other(reads=lambda tokens, start, most: tokens[-most:], at=-1, ends=EOS, keeps=True,
          gives=lambda tokens, start: tokens[start:]):  # fmt: skip
    """A loop with one of its parts done otherwise."""

    def function(model, tokens, count, pick):
        start, tokens = len(tokens), list(tokens)
        with torch.no_grad():
            for _ in range(count):
                window = torch.tensor([reads(tokens, start, model.config.max_length)])
                new = pick(model(window)[0, at])
                if keeps or new != ends:
                    tokens.append(new)
                if new == ends:
                    break
        return gives(tokens, start)

    return function


def grows(model, tokens, count, pick):
    tokens += generate(model, tokens, count, pick)
    return tokens


NEW, READS, END = "what is new", "what the model reads", "the end of the text"
for stage, says, wrong in (
    (NEW, "The start is in it; only what is new is wanted.",
     other(gives=lambda tokens, start: tokens)),
    (NEW, "The logits of the *last* position tell what comes next, not those of the first.",
     other(at=0)),
    (NEW, "Only the last token is returned.", other(gives=lambda tokens, start: tokens[-1:])),
    (NEW, "your function changed `tokens`", grows),
    (READS, "It reads the newest token only; it needs the whole text so far.",
     other(reads=lambda tokens, start, most: tokens[-1:])),
    (READS, "It reads what is new and forgets the start.",
     other(reads=lambda tokens, start, most: tokens[start:] or tokens)),
    (END, "It goes on after `<eos>`: stop there.", other(ends=-1)),
    (END, "`<eos>` is missing: it is the last token of the result.", other(keeps=False)),
    ("no more than fits", "The text grows beyond what the model can read: take the last "
     "`model.config.max_length` tokens.", other(reads=lambda tokens, start, most: tokens)),
    ("no more than fits", "It reads the *first* tokens; what comes next depends on the last ones.",
     other(reads=lambda tokens, start, most: tokens[:most])),
):  # fmt: skip
    task.mistake(stage, says)(wrong)
