"""Replies and the head that tells them from others: Hugging Face's logits, losses, types, chats."""

import math

import pytest
import torch
from torch.nn import functional as F

from tests.adaptation.made import CPU, TOKENIZER, make
from tlcourse.adaptation import SCHEMES, Generator, Recipe, adapt
from tlcourse.bpe import EOS, normalise
from tlcourse.huggingface import from_huggingface
from tlcourse.transformer import grow_types, grow_vocabulary

SPEAKERS = ["<bot>", "<user>", "<reply>"]
WITH = TOKENIZER.with_specials(*SPEAKERS)
CHAT = [
    ("", "the very old town"),
    ("<user>", "Who ran ?"),
    ("<bot>", "the town"),
    ("<user>", "When ?"),
]
PROMPTS = ["Who ran ?", "Where ?", CHAT]
REPLIES = [["When ?", "the town"], ["the town", "Who sang that song ?"], ["Who ?", "old"]]


def chatting(types: bool = True, **options) -> Generator:
    body = grow_vocabulary(make().body, len(SPEAKERS))
    body = grow_types(body, len(SPEAKERS) + 1) if types else body
    if types:
        torch.nn.init.normal_(body.types.weight, std=0.5)
    torch.manual_seed(1)
    return Generator(body, WITH, speakers=SPEAKERS, **options)


def plain() -> Generator:
    torch.manual_seed(1)
    return Generator(make().body, TOKENIZER)


@torch.no_grad()
def test_both_heads_have_the_logits_of_transformers() -> None:
    from transformers import GPT2Config, GPT2DoubleHeadsModel

    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=WITH.vocabulary_size, n_positions=48, n_embd=16, n_layer=2, n_head=2,
        num_labels=1, summary_first_dropout=0.0, attn_implementation="eager",
    )  # fmt: skip
    theirs = GPT2DoubleHeadsModel(config).eval()
    for parameter in theirs.parameters():
        parameter.add_(0.1 * torch.randn_like(parameter))
    ours = Generator(from_huggingface(theirs), WITH, speakers=SPEAKERS).eval()
    ours.head.weight.copy_(theirs.multiple_choice_head.summary.weight)
    ours.head.bias.copy_(theirs.multiple_choice_head.summary.bias)
    tokens, mask = ours.stack(ours.examples(PROMPTS, REPLIES)[0])
    found = theirs(
        tokens, attention_mask=mask.long().flatten(0, 1).view(mask.shape),
        mc_token_ids=mask.sum(-1) - 1,
    )  # fmt: skip
    states = ours.states(tokens.flatten(0, 1), mask.flatten(0, 1)).unflatten(0, tokens.shape[:2])
    right = mask[:, -1]
    torch.testing.assert_close(
        ours(tokens, mask)[right], found.logits[:, -1][right], atol=1e-4, rtol=1e-4
    )
    torch.testing.assert_close(ours.scores(states, mask), found.mc_logits, atol=1e-4, rtol=1e-4)


def test_only_the_reply_and_its_end_are_targets() -> None:
    model = plain().eval()
    (sequence,), targets = model.examples(["Who ran ?"], ["the town"])
    prompt, reply = (TOKENIZER.encode(normalise(text)) for text in ("Who ran ?", "the town"))
    assert sequence == [[*prompt, *reply, EOS]]
    assert targets[0].tolist() == [-100] * (len(prompt) - 1) + [*reply, EOS] + [-100]
    nats, count = model.batch_loss((*model.stack([sequence]), targets))
    logits = model.body(torch.tensor(sequence))[0].log_softmax(-1)
    places = range(len(prompt) - 1, len(prompt) + len(reply))
    expected = -sum(logits[at, sequence[0][at + 1]] for at in places)
    assert count == len(reply) + 1
    torch.testing.assert_close(nats, expected, atol=1e-4, rtol=1e-5)


def test_the_choice_is_added_for_each_token() -> None:
    model = chatting(choice_weight=0.5).eval()
    sequences, targets = model.examples(PROMPTS, REPLIES)
    batch = (*model.stack(sequences), targets)
    both, count = model.batch_loss(batch)
    logits = model(*batch[:2])[:, : targets.shape[1]].flatten(0, 1)
    only = F.cross_entropy(logits, targets[:, : batch[0].shape[2]].flatten(), reduction="sum")
    alone = [
        model.scores(model.states(*(p[None] for p in (tokens, mask)))[None], mask[None, None])
        for tokens, mask in zip(batch[0].flatten(0, 1), batch[1].flatten(0, 1), strict=True)
    ]
    scores = torch.stack(alone).view(len(PROMPTS), 2)
    choice = F.cross_entropy(scores, torch.ones(len(PROMPTS), dtype=torch.long))
    torch.testing.assert_close(both, only + 0.5 * count * choice, atol=1e-3, rtol=1e-4)


def test_every_token_has_the_type_of_its_speaker() -> None:
    model = chatting()
    ids = model.read(CHAT)
    types = model._types(torch.tensor([ids]))["types"][0].tolist()
    expected: list[int] = []
    for name, text in [*CHAT, ("<reply>", "")]:
        kind = SPEAKERS.index(name) + 1 if name else 0
        expected += [kind] * (bool(name) + len(TOKENIZER.encode(normalise(text))))
    assert types == expected
    assert ids[-1] == WITH.special_ids["<reply>"]
    assert plain()._types(torch.tensor([[7]])) == {}


@pytest.mark.parametrize("scheme", ["full fine-tuning", "LoRA"])
def test_it_learns_replies_and_which_is_right(scheme: str, tmp_path) -> None:
    recipe = Recipe(epochs=200, learning_rate=1e-2, batch_size=3)
    start = chatting(dropout=0.0)
    model = adapt(start, PROMPTS, REPLIES, scheme=SCHEMES[scheme], recipe=recipe, compute=CPU)
    losses = [record["loss"] for record in model.report.history]
    assert losses[-1] < 0.85 * losses[0]
    questions = list(zip(PROMPTS, REPLIES, strict=True))
    swapped = [(prompt, replies[::-1]) for prompt, replies in questions]
    if scheme == "full fine-tuning":
        assert model.predict(PROMPTS, compute=CPU, count=12) == [r[-1] for r in REPLIES]
        assert model.choose(questions, compute=CPU) == [1, 1, 1]
        assert model.choose(swapped, compute=CPU) == [0, 0, 0]
    model.save(tmp_path / "chat")
    again = Generator.load(tmp_path / "chat", compute=CPU)
    assert again.tokenizer.more_specials == tuple(SPEAKERS)
    assert again.predict(PROMPTS, compute=CPU) == model.predict(PROMPTS, compute=CPU)
    assert again.choose(questions, compute=CPU) == model.choose(questions, compute=CPU)


def test_a_long_prompt_loses_its_beginning_and_a_reply_its_end() -> None:
    model = plain()
    long = "Who ran ? " * 30
    (sequence,), targets = model.examples([long], ["the town"])
    assert len(sequence[0]) == model.body.config.max_length
    assert (targets[0] != -100).sum() == len(TOKENIZER.encode(" the town")) + 1
    (sequence,), targets = model.examples(["Who ?"], ["the town " * 60])
    assert len(sequence[0]) == model.body.config.max_length
    assert (targets[0] != -100).sum() == model.body.config.max_length - 1
    assert len(model.predict([long], count=5, compute=CPU)) == 1
    assert math.isfinite(model.batch_loss((*model.stack([sequence]), targets))[0].item())


@pytest.mark.parametrize(
    ("prompts", "replies", "words"),
    [
        ([""], ["a"], "row 0: expected a prompt with a text"),
        ([[("<me>", "Who ?")]], ["a"], "row 0: expected a text, or pairs of a speaker"),
        ([["Who ?"]], ["a"], "row 0: expected a text, or pairs of a speaker"),
        (["Who ?"], [" "], "a reply, or several, in row 0"),
        (["Who ?"], [[]], "a reply, or several, in row 0"),
        (["Who ?"], [], "the replies to 1 prompts, got 0"),
        (["Who ?", "When ?"], [["a"], ["a", "b"]], r"as many replies for every prompt, got \[1, 2"),
    ],
)
def test_what_does_not_fit_is_named(prompts: list, replies: list, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        plain().examples(prompts, replies)


def test_speakers_must_be_special_tokens_and_the_body_causal() -> None:
    with pytest.raises(ValueError, match="special tokens of the vocabulary, got '<bot>'"):
        Generator(make().body, TOKENIZER, speakers=["<bot>"])
    with pytest.raises(ValueError, match="expected a causal body"):
        Generator(make(causal=False).body, TOKENIZER)
    with pytest.raises(ValueError, match="less than the model's 48 positions"):
        plain().predict(["Who ?"], count=48, compute=CPU)
