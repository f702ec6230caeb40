"""Each demonstration passes with right answers, and fails with answers that are wrong in it."""

import copy
from fractions import Fraction
from typing import Any

import pytest
import torch

from tests.milestones import PIECES
from tlcourse.exercises import task
from tlcourse.milestones import DEMONSTRATIONS, Failed
from tlcourse.milestones import demonstrations as module

RIGHT = {id: task.get(id).solution for id in PIECES}
OF = {demonstration.lesson: demonstration for demonstration in DEMONSTRATIONS}
Tokenizer: Any = RIGHT["bpe.tokenizer"]
Model: Any = RIGHT["transformer.model"]
LoRALinear: Any = RIGHT["adaptation.lora"]
train, remove, run_without = (
    RIGHT[id] for id in ("pretraining.train", "probing.remove", "looking.ablate")
)


class ReadsSpecials(Tokenizer):
    def encode(self, text, allow_special=False):
        return super().encode(text, True)


class LosesSpaces(Tokenizer):
    def decode(self, ids):
        return " ".join(super().decode(ids).split())


class SeesPads(Model):
    """Wrong only where a text is padded."""

    def hidden(self, tokens, padding_mask=None):
        states = super().hidden(tokens, padding_mask)
        return states if padding_mask is None else states * padding_mask.float().mean()


class SkipsTheLastBlock(Model):
    def __init__(self, config):
        super().__init__(config)
        self.blocks[-1].forward = lambda x, *_: x


class Doubled(LoRALinear):
    def __init__(self, base, rank=8, alpha=16.0):
        super().__init__(base, rank, 2 * alpha)


class MergesNothing(LoRALinear):
    def merged(self):
        return self.base


def without_last(model, tokens):
    return RIGHT["pretraining.causal_loss"](model, tokens[:, :-1])


def never_clips(*given, clip=1.0):
    return train(*given, clip=1e9)


def forgets_the_factor(classifier, scheme, batches, task_loss, learning_rate):
    return RIGHT["adaptation.four_knobs"](classifier, scheme, batches, task_loss, learning_rate / 2)


def barely_trained(features, labels, classes, steps=300):
    return RIGHT["probing.linear_probe"](features, labels, classes, 1)


def remains_off(model, tokens, layer, head):
    """The right logits, but the head stays off."""
    columns = model.blocks[layer].attention.output.weight.data.view(256, 4, 64)
    columns[:, head] = 0
    return model(tokens)


WRONG = [
    ("01", "bpe.tokenizer", ReadsSpecials, "expected the ids ["),
    ("01", "bpe.tokenizer", LosesSpaces, "from its ids, got"),
    ("02", "bpe.tokenizer", LosesSpaces, "expected the text '"),
    ("02", "transformer.model", SeesPads, "expected the logits of causal-small, got numbers"),
    ("03", "transformer.model", SkipsTheLastBlock, "expected the engine's losses"),
    ("03", "pretraining.causal_loss", without_last, "expected the engine's losses"),
    ("03", "pretraining.windows", lambda ids, step, *sizes: RIGHT["pretraining.windows"](
        ids, step + 1, *sizes), "expected the engine's losses"),
    ("03", "pretraining.schedule", lambda *_: 1.0, "expected the engine's losses"),
    ("03", "pretraining.train", never_clips, "expected the engine's losses"),
    ("05", "transformer.model", SkipsTheLastBlock, "expected the losses of `adapt`"),
    ("05", "adaptation.four_knobs", forgets_the_factor, "expected the losses of `adapt`"),
    ("05", "adaptation.lora", Doubled, "expected the losses of `adapt`"),
    ("05", "adaptation.lora", MergesNothing, "expected the same logits after merging"),
    ("07", "probing.linear_probe", barely_trained, "right in layer 3, got"),
    ("07", "probing.remove", lambda h, d: (h + remove(h, d)) / 2, "with number removed"),
    ("08", "transformer.model", SkipsTheLastBlock, "expected the logits without head 0.0"),
    ("08", "looking.ablate", lambda m, ids, layer, head: run_without(m, ids, layer, head ^ 1),
     "expected the logits without head 0.0"),
    ("08", "looking.ablate", remains_off, "expected the logits without head 0.1"),
]  # fmt: skip


class CopiesTheBase(LoRALinear):
    def __init__(self, base, rank=8, alpha=16.0):
        super().__init__(copy.deepcopy(base), rank, alpha)


RIGHT_TOO: list[tuple[str, str, Any]] = [  # accepted by the checks: other types, arguments, copies
    (
        "03",
        "pretraining.schedule",
        lambda *given: Fraction(RIGHT["pretraining.schedule"](*given)),
    ),
    ("05", "adaptation.lora", CopiesTheBase),
    ("07", "probing.linear_probe", lambda x, y, n, steps: RIGHT["probing.linear_probe"](x, y, n)),
]


@pytest.mark.parametrize(("lesson", "id", "answer"), RIGHT_TOO)
def test_a_right_answer_of_another_form_passes(lesson, id, answer) -> None:
    assert OF[lesson].show(RIGHT | {id: answer}).says


@pytest.mark.parametrize(("lesson", "id", "answer", "said"), WRONG)
def test_a_wrong_answer_makes_the_demonstration_fail(lesson, id, answer, said) -> None:
    with pytest.raises(Failed) as failed:
        OF[lesson].show(RIGHT | {id: answer})
    message = str(failed.value)
    assert said in message and "expected" in message and ", got" in message
    assert "\n" not in message


def test_every_exercise_of_a_demonstration_has_a_wrong_answer_here() -> None:
    due = {(each.lesson, id) for each in DEMONSTRATIONS for id in each.exercises}
    assert due == {(lesson, id) for lesson, id, *_ in WRONG}


def test_the_parts_of_a_demonstration_are_those_that_its_answers_build_on() -> None:
    assert OF["01"].pieces == [
        "bpe.merge_pair",
        "bpe.byte_symbols",
        "bpe.encode_pre_token",
        "bpe.split_specials",
        "bpe.tokenizer",
    ]
    attention = ["transformer.attention", "transformer.combined_mask", "transformer.rotate"]
    assert OF["08"].pieces[:3] == attention and OF["08"].pieces[-1] == "looking.ablate"


def test_numbers_of_another_shape_or_none_at_all_fail() -> None:
    for got in (torch.zeros(3), torch.tensor([1.0, torch.nan])):
        with pytest.raises(Failed, match="expected the losses"):
            module._compare("the losses", got, torch.ones(2))
    assert module._compare("the losses", [1.0, 2.0], torch.tensor([1.0, 2.0])) == 0
