"""The demonstrations: what the lessons build, at work, each compared with another program.

All of them run on the CPU in float32, on what comes with the course; only TREC is taken from the
folder that TLCOURSE_DATA names, if it is there.
"""

import contextlib
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
import torch
from torch import Tensor
from torch.nn import functional as F

from tlcourse import (
    batching,
    bpe,
    checkpoints,
    corpora,
    device,
    looking,
    pretraining,
    probing,
    sizes,
    training,
    views,
)
from tlcourse.adaptation import (
    AddedOnly,
    Batches,
    Classifier,
    LoRALinear,
    Recipe,
    Scheme,
    adapt,
    baselines,
)
from tlcourse.corpora import conllu
from tlcourse.evaluation import generate
from tlcourse.exercises import task
from tlcourse.exercises.expect import short
from tlcourse.probing import tasks
from tlcourse.transformer import Config, EngineMethods, as_transformer, take_weights
from tlcourse.views import Picture

Answers = Mapping[str, Any]  # by the id of the exercise

COMPUTE = device.Compute(torch.device("cpu"), torch.float32, "explicit", False)
TOLERANCE = 1e-3  # for logits, losses and probabilities; rounding makes up to about 2e-5
SHIPPED = "causal-small"


class Failed(Exception):
    """The answers do not do what the demonstration expects; the message is one line."""


@dataclass(frozen=True)
class Shown:
    """What a demonstration showed: `says` goes on after "Your tokenizer"; the number that carries
    it, with its unit; and a figure with alt text.
    """

    says: str
    number: str
    unit: str
    figure: Picture


@dataclass(frozen=True)
class Demonstration:
    """One of the course's demonstrations, of a lesson; `name` follows "Your" and "My".

    `show` takes the answers to the exercises; it returns what is to be seen, and raises Failed if
    that is not as it should be. `about` explains it, in the learner's voice, to those who do not
    know the course.
    """

    lesson: str
    name: str
    exercises: tuple[str, ...]
    show: Callable[[Answers], Shown]
    about: str

    @property
    def pieces(self) -> list[str]:
        """The ids of the exercises and of those that they build on, in the order of the lessons."""
        ids, wanted = set[str](), [*self.exercises]
        while wanted:
            id = wanted.pop()
            ids.add(id)
            wanted += task.get(id).builds_on
        return [id for id in task.ids() if id in ids]


def _compare(what: str, got: Any, expected: Any) -> float:
    """The largest difference between two tensors or lists of numbers; raises Failed if it is large.

    `what` they are stands in the message.
    """
    got, expected = (torch.as_tensor(each).detach().double() for each in (got, expected))
    if got.shape != expected.shape:
        raise Failed(f"expected {what}, {tuple(expected.shape)}, got shape {tuple(got.shape)}")
    apart = (got - expected).abs().max().item()
    if not apart <= TOLERANCE:
        raise Failed(f"expected {what}, got numbers that differ by up to {apart:.2g}")
    return apart


def _shipped() -> tuple[Any, Any]:
    return checkpoints.load(SHIPPED, COMPUTE)


def _tokenizer(answers: Answers) -> Any:
    """The answer's tokenizer with the vocabulary and merges of the shipped models."""
    content = (checkpoints.folder_of(SHIPPED) / "tokenizer.json").read_text(encoding="utf-8")
    saved = json.loads(content)["model"]
    merges = [tuple(pair) for pair in saved["merges"]]
    return answers["bpe.tokenizer"](saved["vocab"], merges, list(bpe.SPECIALS))


def _model(answers: Answers, config: Config) -> Any:
    """A new model of the answer's class, with the methods that the package needs."""

    kind: Any = answers["transformer.model"]

    class Own(EngineMethods, kind):
        pass

    return Own(config)


def _with_weights(answers: Answers, shipped: Any) -> Any:
    return take_weights(_model(answers, shipped.config), shipped).eval()


def _wikitext(split: str) -> Any:
    return corpora.load("wikitext-2", source="sample")[split]


HARD = ["m²", "e\u0301", "नमस्ते", "👩‍👩‍👧", "a  b\t\n", "これはテストです。", "<eos>", "the" * 40]
WORDS = " explains 2½ m²."


def gives_the_ids(answers: Answers) -> Shown:
    """Lesson 01: ids and texts, beside the library `tokenizers`."""
    path = checkpoints.folder_of(SHIPPED) / "tokenizer.json"
    own, library = _tokenizer(answers), tokenizers.Tokenizer.from_file(str(path))
    lines = [line for line in _wikitext("validation")["text"] if line.strip()]
    texts, count = [*HARD, *lines, WORDS], 0
    for text in texts:
        for special in (False, True):
            library.encode_special_tokens = not special
            ids = own.encode(text, allow_special=special)
            expected = library.encode(text, add_special_tokens=False).ids
            if ids != expected:
                raise Failed(
                    f"expected the ids {short(expected)} of {text!r:.60}, got {short(ids)}"
                )
            if own.decode(ids) != text:
                raise Failed(f"expected {text!r:.60} from its ids, got {own.decode(ids)!r:.60}")
            count += len(ids) * (not special)
    columns: list[tuple] = []
    for word in bpe.pre_tokenise(WORDS):
        ids = own.encode(word)
        symbols, tokens = ([*map(library.id_to_token, each)] for each in (bpe.to_ids(word), ids))
        columns.append((word, symbols, tokens, ids))
    return Shown(
        f"gives the ids of the shipped models: {len(texts)} texts make {count:,} ids, all equal to "
        "those of the library `tokenizers`",
        f"{count:,}",
        "ids, all of them right",
        views.text_to_ids(columns),
    )


PROMPT = " The heavy rain delayed the trains, and"
PHRASES = {
    "The castle was built in the twelfth": "century",
    "They fought in the Second World": "War",
    "the Prime Minister of the United": "Kingdom",
    "the leader of the Soviet": "Union",
    "a priest of the Roman Catholic": "Church",
    "She won a medal at the Summer": "Olympics",
    "They were married and had two": "children",
    "The capital of France is": "Paris",
}


def writes(answers: Answers) -> Shown:
    """Lesson 02: logits and a text, beside the package's Transformer."""
    (shipped, theirs), own_tokenizer = _shipped(), _tokenizer(answers)
    own = _with_weights(answers, shipped)
    tokens, mask = batching.pad([theirs.encode(text) for text in PHRASES])
    with torch.no_grad():
        logits = own(tokens, mask)
        apart = _compare(f"the logits of {SHIPPED}", logits[mask], shipped(tokens, mask)[mask])
    written, expected = (
        generate(model, ids, 13, generator=torch.Generator().manual_seed(0))
        for model, ids in ((own, own_tokenizer.encode(PROMPT)), (shipped, theirs.encode(PROMPT)))
    )
    text, right = own_tokenizer.decode(written), theirs.decode(expected)
    if text != right:
        raise Failed(f"expected the text {right!r} after {PROMPT!r}, got {text!r}")
    guesses = {}
    for (phrase, word), row, length in zip(PHRASES.items(), logits, mask.sum(1), strict=True):
        share, best = row[length - 1].softmax(-1).max(-1)
        token = own_tokenizer.decode([best.item()])
        guesses[phrase] = token, share.item(), token.strip() == word
    count = sum(parameter.numel() for parameter in own.parameters())
    return Shown(
        f"computes the logits of {SHIPPED} from its {count:,} weights (at most {apart:.0e} apart) "
        f"and writes: “{PROMPT.strip()} …{text}”",
        f"{count / 1e6:.1f}M",
        "trained weights in a class of my own",
        views.next_token_bars(guesses),
    )


def trains(answers: Answers) -> Shown:
    """Lesson 03: the losses of a whole run, beside the package's engine."""
    (_, tokenizer), text = _shipped(), _wikitext("train")
    recipe = pretraining.PretrainingRecipe(
        batch_size=8, length=64, muon_learning_rate=None, warmup=10
    )
    count = sizes.current().milestone_steps
    torch.manual_seed(0)
    own = _model(answers, Config(tokenizer.vocabulary_size, 64, 2, 2, 256))
    other = as_transformer(own)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        path = Path(folder, "train.bin")
        pretraining.write_corpus(path, corpora.articles(text), tokenizer, progress=False)
        file = batching.TokenFile(path)
        ids: Any = np.array(file.ids)
        file.ids = ids  # so that the file is closed
    history = training.train(
        other,
        pretraining.OBJECTIVES["causal"].loss,
        pretraining.batches(file, other.config, recipe),
        steps=count,
        optimizers=pretraining.optimizers_for(other, recipe),
        schedule=training.warmup_stable_decay(count, recipe.warmup, recipe.decay),
        compute=COMPUTE,
    )

    def batch_of(step: int) -> Tensor:
        return answers["pretraining.windows"](ids, step, recipe.batch_size, recipe.length + 1)

    def learning_rate(step: int) -> float:
        share = answers["pretraining.schedule"](step, count, recipe.warmup, recipe.decay)
        return recipe.learning_rate * float(share)

    (optimizer,) = pretraining.optimizers_for(own, recipe)
    loss = answers["pretraining.causal_loss"]
    given = (own, loss, batch_of, optimizer, learning_rate, range(count))
    losses = [float(each) for each in answers["pretraining.train"](*given)]
    expected = [record["loss"] for record in history]
    _compare(f"the engine's losses, at the end {expected[-1]:.3f}", losses, expected)
    steps = range(1, count + 1)
    series = {"my loop": (steps, losses), "the package's": (steps, expected)}
    return Shown(
        f"trains a model from {losses[0]:.2f} to {losses[-1]:.2f} nats per token, with the loss of "
        f"the package's engine in each of {count} steps",
        f"{losses[0]:.2f} → {losses[-1]:.2f}",
        f"nats per token in {count} steps",
        views.curves(
            series,
            x_label="step",
            y_label="loss (nats per token)",
            dashed=["the package's"],
            title="Two training loops, the same loss at every step",
            alt=f"The loss falls from {losses[0]:.2f} to {losses[-1]:.2f} nats per token in "
            f"{count} steps; the two curves cover each other.",
            note=corpora.caption_note(text),
        ),
    )


def _replace(classifier: Any, make: Callable[[Any], Any]) -> None:
    """Replaces the layers query and value of every block by what `make` returns for them."""
    for attention in (block.attention for block in classifier.body.blocks):
        attention.query, attention.value = make(attention.query), make(attention.value)


def sorts_questions(answers: Answers) -> Shown:
    """Lesson 05: LoRA in the answer's model, by the answer's loop, beside `adapt`."""
    shipped, tokenizer = _shipped()
    mirrored = corpora.LOCAL in corpora.available()["trec"]
    data = corpora.load("trec", source="local" if mirrored else "sample")
    train, test = corpora.label_subset(data["train"], 200, seed=0), data["test"]
    texts, labels = train["text"][:], train["label"][:]
    body = _with_weights(answers, shipped)
    torch.manual_seed(0)
    start, own = (
        Classifier(each, tokenizer, corpora.TREC_LABELS, dropout=0.0) for each in (shipped, body)
    )
    own.head.load_state_dict(start.head.state_dict())
    drawn: list[Tensor] = []

    def new_layer(layer: Any) -> Any:
        made = answers["adaptation.lora"](layer)
        drawn.append(made.a.detach().clone())
        return made

    def add(classifier: Any) -> None:
        torch.manual_seed(0)
        _replace(classifier, new_layer)

    def add_packages(classifier: Any) -> None:
        _replace(classifier, lambda layer: LoRALinear(layer, 8, 16.0))
        layers = [part for part in classifier.modules() if isinstance(part, LoRALinear)]
        for layer, a in zip(layers, drawn, strict=True):
            layer.a.data.copy_(a)

    def groups(classifier: Any, added: Sequence[str]) -> Any:
        # of an answer that copies the layer, the copy remains frozen
        return AddedOnly(4.0)(classifier, [name for name in added if name.endswith((".a", ".b"))])

    def task_loss(classifier: Classifier, batch: Sequence[Tensor]) -> Tensor:
        return F.cross_entropy(classifier(*batch[:2]), batch[2])

    def wrong(said: Sequence[str]) -> int:
        return sum(one != other for one, other in zip(said, test["label"], strict=True))

    recipe = Recipe(epochs=sizes.current().milestone_epochs)
    made = Batches(own, texts, labels, batch_size=recipe.batch_size, seed=0)
    batches = [made.batch(step) for step in range(recipe.steps(len(texts)))]
    before = wrong(own.predict(test["text"][:], compute=COMPUTE))
    scheme = Scheme(edit=add, groups=groups)
    loop, rate = answers["adaptation.four_knobs"], recipe.learning_rate
    losses = [float(each) for each in loop(own, scheme, batches, task_loss, rate)]
    scheme = Scheme(edit=add_packages, groups=groups)
    adapted = adapt(start, texts, labels, scheme=scheme, recipe=recipe, compute=COMPUTE)
    assert adapted.report is not None
    expected = [record["loss"] for record in adapted.report.history]
    _compare(f"the losses of `adapt`, at the end {expected[-1]:.3f}", losses, expected)
    after, merged = wrong(own.predict(test["text"][:], compute=COMPUTE)), own.copy()
    _replace(merged, lambda layer: layer.merged())
    with torch.no_grad():
        both = [each.eval()(*batches[0][:2]) for each in (merged, own)]
    _compare("the same logits after merging", *both)
    share = adapted.report.trained / adapted.report.parameters
    choice = baselines.cross_validate(texts, labels)
    rival = baselines.linear(choice.kind, choice.strength).fit(texts, labels)
    counting = wrong(rival.predict(test["text"][:]))
    bars = {"before": before, "counting words": counting, "with my LoRA": after}
    return Shown(
        f"trains {share:.1%} of the model's parameters on {len(texts)} questions of TREC: {after} "
        f"of {len(test)} new ones are wrong (before: {before}; by counting words: {counting})",
        f"{before} → {after}",
        f"wrong answers to {len(test)} questions",
        views.horizontal_bars(
            {name: 100 * count / len(test) for name, count in bars.items()},
            x_label="wrong answers (%)",
            number="{:.0f} %",
            highlight="with my LoRA",
            title="What kind of answer does a question ask for?",
            alt=f"Bars of the share of {len(test)} new questions that the model gets wrong: "
            f"{before} before the training, {after} after it, {counting} by counting words.",
            note=corpora.caption_note(data),
        ),
    )


LAYER = 3
CUT = "The houses"
VERBS = ("are", "were", "is", "was")  # two plural, two singular


def reads_grammar(answers: Answers) -> Shown:
    """Lesson 07: parts of speech and number, beside the package's probe and projection."""
    model, tokenizer = _shipped()
    treebank = corpora.load("ud-english-ewt", source="sample")
    found = {}
    for split in ("train", "test"):
        rows = [conllu.Sentence.of(row) for row in treebank[split]]
        states = probing.extract(model, tokenizer, [(row.text, row.spans) for row in rows])
        found[split] = rows, states, probing.examples(states, tasks.column(rows, "upos"), LAYER)
    (rows, states, train), (_, _, test) = found.values()
    names = sorted(set(train.labels))
    features, tags = (torch.tensor(train.features).float(), [names.index(t) for t in train.labels])
    torch.manual_seed(0)
    own = answers["probing.linear_probe"](features, torch.tensor(tags), len(names), 300)
    said = own(torch.tensor(test.features).float())
    right = np.mean([names[i] == label for i, label in zip(said, test.labels, strict=True)])
    package = probing.linear_probe(train.features, train.labels)
    expected = package.judge(test.features, test.labels).accuracy
    if right < expected - 0.03:
        raise Failed(f"expected about {expected:.1%} right in layer {LAYER}, got {right:.1%}")

    nouns = probing.examples(states, tasks.number(rows), LAYER)
    mean = states.layers[LAYER].mean(axis=0, dtype=np.float32)
    removals = {
        "nothing removed": None,
        "number removed": probing.mean_directions(
            nouns.features, nouns.labels, between=("Sing", "Plur")
        ),
        "another direction removed": probing.random_directions(1, model.config.width, seed=0),
    }
    ids = torch.tensor([tokenizer.encode(bpe.normalise(CUT))])

    @torch.no_grad()
    def expects(direction: Any, by: Any) -> dict[str, float]:
        """The probabilities of the verbs after the two words, without a direction if any."""
        removal = probing.removing(model, direction, LAYER, mean=mean, by=by)
        with contextlib.nullcontext() if direction is None else removal:
            shares = model(ids)[0, -1].softmax(-1)
        return {verb: shares[tokenizer.encode(f" {verb}")[0]].item() for verb in VERBS}

    shares = {name: expects(each, answers["probing.remove"]) for name, each in removals.items()}
    for name, each in removals.items():
        what = f"the verbs that the package's projection gives with {name}"
        _compare(what, [*shares[name].values()], [*expects(each, None).values()])
    plural = {name: sum(each[verb] for verb in VERBS[:2]) for name, each in shares.items()}
    usual, without = plural["nothing removed"], plural["number removed"]
    return Shown(
        f"reads {right:.1%} of the parts of speech right (the package's: {expected:.1%}), and "
        f"without the direction of number, “are” or “were” follows “{CUT}” with a probability of "
        f"{without:.0%} instead of {usual:.0%}",
        f"{right:.1%}",
        "of the parts of speech read right",
        views.next_words(CUT, shares, plural=VERBS[:2], note=corpora.caption_note(treebank)),
    )


NAMES = {  # invented, so that only copying helps; from lesson 08
    " The Zorblat Frumkin was built in 1906 . In 1912 , the Zorblat": " Frumkin",
    " Harry Tolwick met Mary Oakpenny . In the evening , Harry thanked Mary": " Oakpenny",
    " The village of Mokra Velda has an old church . In 1900 , the village of Mokra": " Velda",
    " In 1921 , Quindal Brost became king . The people loved Quindal": " Brost",
    ' The song " Plimber Nacht " was a hit . The band played " Plimber': " Nacht",
    " A ship named Vorka Sindal sank in 1840 . The captain of the Vorka": " Sindal",
}
HEAD = 4, 0  # the induction head that lesson 08 opens with


@torch.no_grad()
def switches_heads_off(answers: Answers) -> Shown:
    """Lesson 08: each head of the answer's model off in turn, beside the package's ablation."""
    shipped, tokenizer = _shipped()
    own = _with_weights(answers, shipped)
    texts = [torch.tensor([[bpe.EOS, *tokenizer.encode(text)]]) for text in NAMES]
    words = [tokenizer.encode(word)[0] for word in NAMES.values()]

    def copied(logits: list[Tensor]) -> float:
        """The mean probability of the first token of the names' second words."""
        rows = zip(logits, words, strict=True)
        return float(np.mean([each[0, -1].softmax(-1)[word].item() for each, word in rows]))

    whole, lost = copied([*map(own, texts)]), np.zeros((len(own.blocks), own.config.heads))
    for layer, head in np.ndindex(*lost.shape):
        logits = [answers["looking.ablate"](own, ids, layer, head) for ids in texts]
        with looking.ablating(shipped, [(layer, head)]):
            for got, ids in zip(logits, texts, strict=True):
                _compare(f"the logits without head {layer}.{head}", got, shipped(ids))
        lost[layer, head] = whole - copied(logits)
    _compare("the same model after all heads were off", copied([*map(own, texts)]), whole)
    rest = whole - lost[HEAD]
    return Shown(
        f"turns off each of {lost.size} heads: the model copies names with a probability of "
        f"{whole:.0%}, without head {HEAD[0]}.{HEAD[1]} of {rest:.0%}",
        f"{whole:.0%} → {rest:.0%}",
        "probability of copying a name, without one head",
        views.missed_heads(lost, "Copying a name", label="probability lost"),
    )


DEMONSTRATIONS = (
    Demonstration(
        "01",
        "tokenizer",
        ("bpe.tokenizer",),
        gives_the_ids,
        "A tokenizer turns text into the numbers that a model reads, and these back into text. "
        "Mine works on bytes, as GPT-2's does, so nothing is unknown to it. I compared its "
        "numbers with those of the library `tokenizers`, one by one.",
    ),
    Demonstration(
        "02",
        "Transformer",
        ("bpe.tokenizer", "transformer.model"),
        writes,
        "I wrote attention with rotary positions, the feed-forward layer, the block, and the "
        "model that stacks six of them. With the trained weights of the course's language model, "
        "my class computes the same scores as the original, and continues texts.",
    ),
    Demonstration(
        "03",
        "training loop",
        (
            "pretraining.causal_loss",
            "pretraining.schedule",
            "pretraining.train",
            "pretraining.windows",
            "transformer.model",
        ),
        trains,
        "The loss, the batches, the learning rate over time and the loop that uses them are mine. "
        "They train a new, small model of my class, and an independent program trains a copy of "
        "it. I compared the losses of the two, step by step.",
    ),
    Demonstration(
        "05",
        "LoRA",
        ("adaptation.four_knobs", "adaptation.lora", "transformer.model"),
        sorts_questions,
        "LoRA freezes a trained model and adds a small trainable change to some of its matrices. "
        "With it, my Transformer learned to sort questions by the kind of answer that they ask "
        "for, such as a place, a person or a number. At every step, I compared the loss with that "
        "of an independent program.",
    ),
    Demonstration(
        "07",
        "probe",
        ("probing.linear_probe", "probing.remove"),
        reads_grammar,
        "A probe is a small classifier that reads a property of the words from a model's hidden "
        "states. To find out whether the model uses such a property, I remove the direction in "
        "which singular and plural nouns differ, and, for comparison, a random one, and look at "
        "the next word.",
    ),
    Demonstration(
        "08",
        "switch for heads",
        ("looking.ablate", "transformer.model"),
        switches_heads_off,
        "A map of attention shows where a head of the model looks, but only switching the head "
        "off shows whether the model needs it. I switched off one head after the other, and "
        "measured whether the model can still copy an invented name from an earlier sentence.",
    ),
)
