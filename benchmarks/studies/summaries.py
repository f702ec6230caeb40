"""Summaries without summaries to learn from: lead-3 against denoisers, on articles of WikiText.

`python -m benchmarks summaries`: the introduction of an article, which is the text before its first
heading, is taken as the reference summary of the sections below it. Three ways copy sentences. Our
causal model continues the beginning of the sections, with and without " TL;DR :" behind it (Radford
et al., 2019). Two denoisers, encoder-decoders made of our masked and our causal model, learn to
restore sentences of other articles and then rewrite the three sentences of lead-3, one at a time.
One learns from sentences that lack words, a noise of BART (Lewis et al., 2020), the other from
sentences with words of other sentences in between (Févry & Phang, 2018), so that it learns to leave
out what does not belong. Nothing is chosen by the score. Every summary has three sentences.

Finished runs are kept in `runs/summaries/`, and carried in `benchmarks/finished/`.
"""

import hashlib
import itertools
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from benchmarks import clocks, markdown, runner
from benchmarks.markdown import error_cell, source
from tlcourse import checkpoints, corpora, device, generation
from tlcourse.batching import generator_for, pad
from tlcourse.bpe import EOS
from tlcourse.metrics import bootstrap_interval
from tlcourse.objectives import sequence_to_sequence_loss
from tlcourse.spans import answer_f1, normalised_answer
from tlcourse.training import train, warmup_stable_decay
from tlcourse.transformer import EncoderDecoder, Transformer, cached

CAUSAL, MASKED = "causal-small", "masked-small"
LEAD, RANDOM, OTHER = "lead-3", "three random sentences", "lead-3 of another article"
HINTED, PLAIN = "causal-small after TL;DR", "causal-small, no hint"
DROPPED, ADDED = "denoiser, words dropped", "denoiser, words added"
SENTENCES = 3  # of a summary
READ, WRITTEN = 140, 100  # tokens that the causal model reads and writes; 256 positions hold both
SENTENCE = 64  # tokens of a sentence that a denoiser reads and writes, at most
WORDS = (8, 20)  # of a sentence to learn from, at least and at most
HINT = " TL;DR :"
TOP = 2  # of the likeliest tokens, one is drawn after the hint, as in Radford et al. (2019)
DROPPED_SHARE = 0.2  # of a sentence's words
ADDED_SHARE = 0.25  # of the words of another sentence, from each of two
STEPS, BATCH = 400, 8
RATE, NEW_RATE = 5e-4, 5e-3  # learning rates of the decoder, and of the new cross-attention
TOGETHER = 60  # texts that are written at a time
SEEDS = (0, 1, 2)  # of random sentences
ORDER = (LEAD, RANDOM, OTHER, HINTED, PLAIN, DROPPED, ADDED)  # of the rows
SHOWN = 94  # the number of the article of which summaries are kept
STOP = re.compile(r"(?<= [.!?]) ")


class Article(NamedTuple):
    """Sentences of an article: those before its first heading, and those below the headings."""

    introduction: list[str]
    sections: list[str]


def article_of(text: str) -> Article:
    """The sentences of an article of WikiText, without its title and headings."""
    lines = [line.strip() for line in text.split("\n") if line.strip()][1:]
    heads = [n for n, line in enumerate(lines) if line.startswith("= ")]
    first = heads[0] if heads else len(lines)
    parts = lines[:first], [line for line in lines[first:] if not line.startswith("= ")]
    return Article(*([each for line in part for each in STOP.split(line)] for part in parts))


def articles_in(name: str, splits: Sequence[str]) -> list[Article]:
    """The articles of a corpus that have an introduction and enough sentences below it."""
    data = corpora.load(name)
    found = [article_of(text) for split in splits for text in corpora.articles(data[split])]
    return [each for each in found if each.introduction and len(each.sections) > SENTENCES]


def judged() -> list[Article]:
    """The articles that every way is judged on."""
    return articles_in("wikitext-103", ("validation", "test"))


def sentences_of(articles: Sequence[Article]) -> list[list[str]]:
    """The words of each sentence below headings that is whole, neither short nor long."""
    found = [each.split() for article in articles for each in article.sections]
    lowest, highest = WORDS
    return [
        words
        for words in found
        if lowest <= len(words) <= highest and words[-1] == "." and "<unk>" not in words
    ]


def drop_words(words: list[str], others: Iterator[list[str]], draw: random.Random) -> list[str]:
    """The words without a random share of them, which are BART's deleted tokens."""
    return [word for word in words if draw.random() >= DROPPED_SHARE] or words


def add_words(words: list[str], others: Iterator[list[str]], draw: random.Random) -> list[str]:
    """The words, in order, with short runs of the words of two other sentences in between."""
    mixed = list(words)
    for other in itertools.islice(others, 2):
        left = round(ADDED_SHARE * len(other))
        while left > 0:
            count = draw.randint(1, left)
            start, place = draw.randint(0, len(other) - count), draw.randint(0, len(mixed))
            mixed[place:place] = other[start : start + count]
            left -= count
    return mixed


Noise = Callable[[list[str], Iterator[list[str]], random.Random], list[str]]
NOISE: dict[str, Noise] = {DROPPED: drop_words, ADDED: add_words}


def batch_of(
    sentences: list[list[str]], noise: Noise, read: Callable[[str], list[int]], *, seed: tuple
) -> tuple[Tensor, Tensor]:
    """Noised sentences as sources, and the sentences as targets, ids (batch, length), padded."""
    draw = random.Random(str(seed))
    others = (draw.choice(sentences) for _ in itertools.count())
    drawn = [draw.choice(sentences) for _ in range(BATCH)]
    sources = [[*read(" ".join(noise(each, others, draw)))[:SENTENCE], EOS] for each in drawn]
    targets = [[EOS, *read(" ".join(each))[:SENTENCE], EOS] for each in drawn]
    return pad(sources)[0], pad(targets)[0]


def denoiser(
    noise: Noise, encoder: str, decoder: str, *, steps: int, seed: int
) -> tuple[EncoderDecoder, list[dict]]:
    """An encoder-decoder of two checkpoints that has learnt to undo noise, and its training log.

    Only the decoder and its cross-attention are trained: that halves the seconds of a step.
    """
    compute = device.choose()
    reader, _ = checkpoints.load(encoder, compute)
    writer, tokenizer = checkpoints.load(decoder, compute)
    sentences = sentences_of(articles_in("wikitext-2", ("train",)))
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model, _ = EncoderDecoder.from_models(reader, writer, attention=compute.attention)
    model.encoder.requires_grad_(False)  # with the embedding that both stacks share
    log = train(
        model,
        lambda model, batch: sequence_to_sequence_loss(model, *batch),
        lambda step: batch_of(sentences, noise, tokenizer.read, seed=(seed, step)),
        steps=steps,
        optimizers=[_adamw(model)],
        schedule=warmup_stable_decay(steps, 20, 0.4),
        seed=seed,
    )
    return model, log


def _adamw(model: EncoderDecoder) -> torch.optim.AdamW:
    """Of what is trained; cross-attention, which is new, has a learning rate of its own."""
    trained = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    new, old = ([p for name, p in trained if ("cross" in name) == which] for which in (True, False))
    groups = [{"params": new, "lr": NEW_RATE}, {"params": old, "lr": RATE}]
    return torch.optim.AdamW(groups, betas=(0.9, 0.98), fused=True)


@torch.no_grad()
def continued(
    model: Transformer | EncoderDecoder,
    starts: Sequence[list[int]],
    count: int,
    *,
    sources: Sequence[list[int]] = (),
    top: int = 1,
    seed: int = 0,
) -> list[list[int]]:
    """At most `count` ids after each start, up to `<eos>`; an encoder-decoder reads `sources`.

    As `generation.generate` writes one text, this writes TOGETHER at a time, of equally long
    starts. Each id is drawn from the `top` likeliest.
    """
    place = next(model.eval().parameters()).device
    found: list[list[int]] = []
    for at in range(0, len(starts), TOGETHER):
        draw = generator_for(seed, at, 1)
        new, given = torch.tensor(starts[at : at + TOGETHER], device=place), {}
        writer = model
        if isinstance(model, EncoderDecoder):
            source, mask = (each.to(place) for each in pad(sources[at : at + TOGETHER]))
            writer = model.decoder
            given = {"source": model.encode(source, mask), "source_mask": mask}
        columns = []
        with cached(writer):
            for _ in range(count):
                logits = model.logits(writer.hidden(new, **given)[:, -1]).float().cpu()
                logits[:, list(generation.NEVER)] = -torch.inf
                best, ids = logits.topk(top)
                columns.append(ids.gather(1, best.softmax(-1).multinomial(1, generator=draw)))
                new = columns[-1].to(place)
        rows = torch.cat(columns, dim=1).tolist()
        found += [row[: row.index(EOS)] if EOS in row else row for row in rows]
    return found


def three(text: str) -> str:
    """The first three sentences of a text."""
    return " ".join(STOP.split(" ".join(text.split()))[:SENTENCES])


def scored(summary: str, article: Article) -> dict[str, float]:
    """A summary's scores, in percent except for the number of its words.

    "F1" is that of its words and the introduction's, "as_long" the same of the first words of the
    sections, as many as the summary has, and "new" the share of its words that are not in the
    sections. `<unk>` is left out, and words are those of SQuAD's answers.
    """
    given, gold, found = (
        text.replace("<unk>", "")
        for text in (" ".join(article.sections), " ".join(article.introduction), summary)
    )
    of_sections, words = (normalised_answer(text).split() for text in (given, found))
    first = " ".join(of_sections[: len(words)])
    new = sum(word not in {*of_sections} for word in words)
    return {
        "F1": 100 * answer_f1(found, [gold]),
        "as_long": 100 * answer_f1(first, [gold]),
        "new": 100 * new / max(1, len(words)),
        "words": len(words),
    }


@dataclass(frozen=True)
class Job(runner.Job):
    """One way to write a summary of each judged article."""

    study = "summaries"
    way: str
    seed: int = 0
    steps: int = 0
    model: str = CAUSAL
    encoder: str = MASKED

    def weights(self) -> str:
        """The digests of both checkpoints, as one."""
        both = " ".join(runner.digest(name) for name in (self.encoder, self.model))
        return hashlib.sha256(both.encode()).hexdigest()[:16]

    def work(self) -> dict:
        """Trains if its way does, writes, and scores each summary against the introduction."""
        articles, clock, losses, training = judged(), runner.processor_clock(), [], 0.0
        model: Transformer | EncoderDecoder | None = None
        if self.way in NOISE:
            given = {"steps": self.steps, "seed": self.seed}
            (model, log), training = clocks.timed(
                lambda: denoiser(NOISE[self.way], self.encoder, self.model, **given), clock
            )
            tenth = max(1, self.steps // 10)
            losses = [
                float(np.mean([record["loss"] for record in part]))
                for part in (log[:tenth], log[-tenth:])
            ]
        elif self.way in (HINTED, PLAIN):
            model, _ = checkpoints.load(self.model, device.choose())
        summaries, seconds = clocks.timed(
            lambda: self.copied(articles) if model is None else self.written(model, articles), clock
        )
        scores = [scored(*pair) for pair in zip(summaries, articles, strict=True)]
        return {
            "scores": {name: [round(each[name], 2) for each in scores] for name in scores[0]},
            "shown": summaries[min(SHOWN, len(summaries) - 1)],
            "losses": losses,
            "training_seconds": training,
            "seconds": seconds,
        }

    def copied(self, articles: Sequence[Article]) -> list[str]:
        """Three sentences of each article's sections, or of those of the article after it."""
        draw = random.Random(self.seed)
        if self.way == OTHER:
            articles = [*articles[1:], articles[0]]
        found = []
        for each in articles:
            places: Sequence[int] = range(SENTENCES)
            if self.way == RANDOM:
                places = sorted(draw.sample(range(len(each.sections)), SENTENCES))
            found.append(" ".join(each.sections[place] for place in places))
        return found

    def written(
        self, model: Transformer | EncoderDecoder, articles: Sequence[Article]
    ) -> list[str]:
        """What the model writes after the beginning of each article's sections, or about it."""
        tokenizer = checkpoints.load(self.model)[1]
        if isinstance(model, EncoderDecoder):
            lead = [text for each in articles for text in each.sections[:SENTENCES]]
            sources = [[*tokenizer.read(text)[:SENTENCE], EOS] for text in lead]
            starts = [[EOS]] * len(sources)
            new = continued(model, starts, SENTENCE, sources=sources)
            texts = [" ".join(tokenizer.decode(ids).split()) for ids in new]
            return [" ".join(three) for three in runner.groups(texts, SENTENCES)]
        hint = tokenizer.read(HINT) if self.way == HINTED else []
        starts = [[*tokenizer.read(" ".join(each.sections))[:READ], *hint] for each in articles]
        new = continued(model, starts, WRITTEN, top=TOP, seed=self.seed)
        return [three(tokenizer.decode(ids)) for ids in new]

    def told(self, result: dict) -> str:
        """Its mean F1, and how long it took."""
        score = np.mean(result["scores"]["F1"])
        spent = result["training_seconds"] + result["seconds"]
        return f"F1 {score:.1f}, losses {result['losses']}, in {spent:.0f} s"


def jobs() -> list[Job]:
    """The runs, the longest first."""
    found = [Job(way, steps=STEPS) for way in NOISE]
    found += [Job(way) for way in (HINTED, PLAIN, LEAD, OTHER)]
    return [*found, *(Job(RANDOM, seed=seed) for seed in SEEDS)]


def measure() -> dict:
    """One row a way: F1 over articles, and its difference from lead-3."""
    runs = runner.run_all(jobs())
    by_way = {way: [run for run in runs if run["way"] == way] for way in ORDER}
    lead = _mean_scores(by_way[LEAD])["F1"]
    return {
        "job": "summaries",
        **runner.provenance(
            "WikiText-103, validation and test; denoisers trained on WikiText-2",
            runs=runs,
            note=runner.pooled(),
        ),
        "articles": len(lead),
        "steps": STEPS,
        "batch": BATCH,
        "shown": {way: by_way[way][0]["shown"] for way in (LEAD, HINTED, *NOISE)},
        "rows": [_row(way, mine, lead) for way, mine in by_way.items()],
    }


def _mean_scores(mine: Sequence[dict]) -> dict[str, np.ndarray]:
    """The scores of each article, means over the runs of a way."""
    names = mine[0]["scores"]
    return {name: np.mean([run["scores"][name] for run in mine], axis=0) for name in names}


def _row(way: str, mine: Sequence[dict], lead: np.ndarray) -> dict:
    """A way's scores; the intervals are bootstrap intervals over articles."""
    scores = _mean_scores(mine)
    mean, *interval = bootstrap_interval(scores["F1"])
    apart, *apart_interval = bootstrap_interval(scores["F1"] - lead)
    row = {"way": way, "mean": mean, "interval": interval}
    row |= {"against_lead": apart, "against_lead_interval": apart_interval}
    row |= {name: float(scores[name].mean()) for name in ("as_long", "new", "words")}
    row["losses"] = mine[0]["losses"]
    for name in ("training_seconds", "seconds"):
        row[name] = float(np.mean([run[name] for run in mine]))
    return row


def section(study: dict[str, Any]) -> str:
    """For RESULTS.md: a row a way."""
    rows = [
        [
            row["way"],
            error_cell(row),
            "" if row["way"] == LEAD else _difference(row),
            f"{row['as_long']:.1f}",
            f"{row['words']:.0f}",
            f"{row['new']:.0f} %",
            f"{row['training_seconds']:.0f}",
        ]
        for row in study["rows"]
    ]
    head = ["", "F1", "against lead-3", "F1 of the beginning, as long", "words", "new words"]
    return markdown.section(
        "## Summaries without summaries",
        "F1 × 100 of the words of a summary and of the article's introduction, which no way has "
        f"read; {study['articles']} articles, 95 % intervals over articles. New words are those "
        f"that are not in the sections below. Denoisers trained for {study['steps']} steps of "
        f"{study['batch']} sentences. {source(study, 'lesson 09b')}",
        markdown.table([*head, "seconds of training"], rows),
    )


def _difference(row: dict) -> str:
    ends = row["against_lead"], *row["against_lead_interval"]
    return markdown.points([each / 100 for each in ends])
