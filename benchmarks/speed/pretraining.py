"""Pretraining steps: ours against transformers' GPT-2 and BERT and torch.nn.TransformerEncoder.

Causal and masked (15 % of the tokens are targets), at two vocabularies, on random tokens. All have
the same shape, data, optimizer and settings, and no dropout. A row's `ratio` is our tokens per
second divided by the library's: above 1, ours is faster; `memory_ratio` is our training memory
divided by theirs: below 1, ours is smaller. Each library runs in the form in which it comes and in
faster ones; `fastest` marks the best of them in this run. Our training loop has the C library keep
freed memory, which plain loops do not; so transformers' last form runs a second time with that
setting, as a contestant of its own. `peak_share` is the share of the measured peak of a matrix
product; the operations counted are those that the job needs, so projecting positions without a
target earns nothing.
"""

import statistics
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from torch import Tensor, nn

from benchmarks import markdown, runner
from benchmarks.speed import harness
from benchmarks.speed.baselines import GPT2, IGNORED, Bert, Encoder, Form, Trainee, plain_step
from benchmarks.speed.harness import Contest, Entry
from tlcourse import device, objectives, pretraining, sizes
from tlcourse.batching import TokenFile, write_tokens
from tlcourse.bpe import SPECIALS
from tlcourse.training import train
from tlcourse.transformer import Config, Transformer, flops_per_token

OURS, TUNED = "ours", "freed memory kept"


@dataclass(frozen=True)
class Scale:
    """What is measured at a size."""

    width: int
    layers: int
    heads: int
    batch_size: int  # windows a step
    length: int  # tokens a window
    vocabularies: tuple[int, ...]
    rounds: int
    seconds: float  # of one contestant in one round
    product: int  # side of the square product whose speed is the peak
    compiles: bool


SCALES = {
    "tiny": Scale(32, 2, 2, 4, 16, (300,), 2, 0.0, 64, False),
    "small": Scale(256, 6, 4, 32, 128, (8_192, 32_768), 5, 2.0, 4096, True),
    "full": Scale(512, 16, 8, 128, 256, (8_192, 32_768), 7, 2.0, 8192, True),
}
PEERS = {
    "causal": {"Hugging Face GPT-2": GPT2, "torch.nn.TransformerEncoder": Encoder},
    "masked": {"Hugging Face BERT": Bert, "torch.nn.TransformerEncoder": Encoder},
}


@dataclass(frozen=True)
class Workload:
    """What all contestants train: "causal" or "masked", its shape, and where the tokens lie."""

    objective: str
    config: Config
    batch_size: int  # windows a step
    length: int  # tokens a window
    tokens: str  # path of the token file
    compiles: bool  # whether those that can compile do

    def batches(self) -> Callable[[int], tuple[Tensor, ...]]:
        """The package's batches of the objective, the same for all contestants."""
        recipe = pretraining.PretrainingRecipe(
            self.objective, batch_size=self.batch_size, length=self.length
        )
        return pretraining.batches(TokenFile(self.tokens), self.config, recipe)

    def flops(self) -> float:
        """Operations of the matrix products that one training step needs.

        The vocabulary is counted only where there is a target: 15 % of the positions when masked.
        """
        everywhere = flops_per_token(self.config, self.length)
        head = everywhere - flops_per_token(replace(self.config, vocabulary_size=0), self.length)
        targets = 1.0 if self.objective == "causal" else 0.15
        return 3 * self.batch_size * self.length * (everywhere - (1 - targets) * head)


class Contestant(Trainee):
    """What ours and the libraries share: the workload, and the steps done so far."""

    def __init__(self, work: Workload, model: nn.Module, compute: device.Compute):
        torch.manual_seed(0)
        super().__init__(model, compute, 1e-3)
        self.work, self.done = work, 0
        self.units, self.batch_of = work.batch_size * work.length, work.batches()

    def batch(self, step: int) -> tuple[Tensor, ...]:
        """The tensors of a step, on the device."""
        return tuple(part.to(self.compute.device) for part in self.batch_of(step))

    def loss(self, batch: tuple[Tensor, ...]) -> tuple[Tensor, int]:
        """Loss in the contestant's own way, and the number of targets behind it."""
        raise NotImplementedError

    def facts(self) -> dict:
        """Figures of a step, its loss and targets: what must be equal, and what is not."""
        facts = {}

        def loss() -> Tensor:
            nats, facts["targets"] = self.loss(self.batch(0))
            facts["loss"] = nats.item()
            return nats

        return self.figures(loss) | facts


class Ours(Contestant):
    """The package's model, losses and engine, prepared as `tlcourse pretrain` does."""

    def __init__(self, work: Workload):
        compute = device.choose()
        super().__init__(work, Transformer(work.config, compute.attention), compute)
        self.nats = pretraining.OBJECTIVES[work.objective].loss
        if work.compiles and compute.compiles:
            pretraining.compile_blocks(self.model, compute=compute)

    def loss(self, batch: tuple[Tensor, ...]) -> tuple[Tensor, int]:
        """Mean nats a target."""
        nats, targets = self.nats(self.model, batch)
        return nats / targets, targets

    def run(self, steps: int) -> None:
        """Steps of the one training loop."""
        first, self.done = self.done, self.done + steps
        train(
            self.model,
            self.nats,
            lambda step: self.batch_of(first + step),
            steps=steps,
            optimizers=[self.optimizer],
            compute=self.compute,
        )

    def breakdown(self, repeats: int) -> dict[str, float]:
        """Milliseconds of body, head and the rest (clipping, optimizer, batch) of a step.

        The head is timed on hidden states that stand alone, the body is forward and backward
        without it, the rest is what a whole step takes longer. Best of `repeats`.
        """
        batch, config = self.batch(0), self.work.config
        count = batch[-1].sum().item() if len(batch) > 1 else self.units  # masked ones, or all
        hidden = torch.randn(count, config.width, device=self.compute.device, requires_grad=True)
        targets = torch.randint(config.vocabulary_size, (count,), device=self.compute.device)
        losses = {
            "head": lambda: objectives.language_model_loss(self.model, hidden, targets),
            "both": lambda: self.nats(self.model, batch)[0],
        }

        def backward(name: str) -> None:
            self.optimizer.zero_grad(set_to_none=True)
            with self.compute.autocast():
                loss = losses[name]()
            loss.backward()

        self.model.train()
        head = _best(lambda: backward("head"), repeats)
        both = _best(lambda: backward("both"), repeats)
        step = _best(lambda: self.run(1), repeats)
        parts = {"body": both - head, "head": head, "optimizer": step - both}
        return {name: round(value, 1) for name, value in parts.items()}

    def peak(self, side: int) -> float:
        """Operations per second of the best of ten large square products, in our precision."""
        a, b = (
            torch.randn(side, side, device=self.compute.device).to(self.compute.precision)
            for _ in range(2)
        )
        return 2 * side**3 / (_best(lambda: a @ b, 10) / 1e3)


class Library(Contestant):
    """A library's model in one of its forms; `keeps_memory`: with our allocator setting."""

    def __init__(
        self,
        work: Workload,
        build: Callable[[Config, str], nn.Module],
        form: Form,
        keeps_memory: bool,
    ):
        compute = replace(device.choose(), precision=form.precision)
        super().__init__(work, build(work.config, form.attention), compute)
        if keeps_memory:
            device.keep_freed_memory()
        if form.compiled:
            self.model.compile()

    def loss(self, batch: tuple[Tensor, ...]) -> tuple[Tensor, int]:
        """The library's own loss: mean nats a target."""
        inputs, targets = _inputs_and_targets(batch)
        return self.model(inputs, targets), int((targets != IGNORED).sum())

    def run(self, steps: int) -> None:
        """Steps of the plain loop."""
        for _ in range(steps):
            inputs, targets = _inputs_and_targets(self.batch(self.done))
            batch = {"inputs": inputs, "targets": targets}
            plain_step(self.model, batch, self.optimizer, self.compute)
            self.done += 1


def _inputs_and_targets(batch: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
    """The package's batch in the libraries' form: both (batch, length), IGNORED = no target."""
    if len(batch) == 1:
        return batch[0][:, :-1], batch[0][:, 1:].contiguous()
    corrupted, tokens, chosen = batch
    return corrupted, tokens.masked_fill(~chosen, IGNORED)


def _best(function: Callable[[], object], repeats: int) -> float:
    """Milliseconds of the quickest of `repeats` calls."""
    return 1e3 * min(harness.alternate({"it": function}, repeats)["it"])


def forms(build: type, compute: device.Compute, compiles: bool) -> list[Form]:
    """As it comes, then faster: in our precision, with the quicker attention, compiled."""
    fast = compute.precision
    if build is Encoder:  # its attention cannot be chosen
        options = [Form(fast, "sdpa"), Form(fast, "sdpa", compiles)]
    else:
        quicker = "eager" if compute.attention == "explicit" else "sdpa"
        options = [Form(torch.float32, "sdpa"), Form(fast, "sdpa"), Form(fast, quicker, compiles)]
    return list(dict.fromkeys(options))


def measure() -> dict:
    """Every objective at every vocabulary."""
    scale, rows, ours = SCALES[sizes.current().name], [], []
    for vocabulary in scale.vocabularies:
        for objective in PEERS:
            mine, others = compete(objective, vocabulary, scale, PEERS[objective])
            ours.append(mine)
            rows += others
    return {
        "job": "pretraining",
        **runner.provenance("random tokens", transformers),
        "step": f"{scale.batch_size} x {scale.length} tokens, width {scale.width}, {scale.layers} "
        f"layers, {scale.heads} heads, fused AdamW, clipped to 1, no dropout",
        "rows": rows,
        "ours": ours,
    }


def compete(
    objective: str, vocabulary: int, scale: Scale, builds: Mapping[str, type]
) -> tuple[dict, list[dict]]:
    """One contest against the libraries in `builds`: our figures, and a row for each of theirs."""
    shape = (vocabulary, scale.width, scale.layers, scale.heads, 4 * scale.width)
    config = Config(*shape, max(256, scale.length), causal=objective == "causal")
    compute = device.choose()
    with tempfile.TemporaryDirectory() as folder:
        tokens = _random_tokens(Path(folder) / "tokens.bin", vocabulary)
        work = Workload(
            objective, config, scale.batch_size, scale.length, str(tokens), scale.compiles
        )
        entries, peers = [Entry(OURS, Ours, {"work": work})], {}
        for name, build in builds.items():
            options = forms(build, compute, scale.compiles and compute.compiles)
            has_setting = build is not Encoder and compute.device.type == "cpu"
            tuned = [(f"{name}, {TUNED}", options[-1], True)] * has_setting
            for peer, form, keeps in [(name, form, False) for form in options] + tuned:
                arguments = {"work": work, "build": build, "form": form, "keeps_memory": keeps}
                entries.append(Entry(f"{peer}, {form}", Library, arguments))
                peers[entries[-1].name] = {"peer": peer, "form": str(form)}
        print(f"{objective}, vocabulary {vocabulary:,}: warming up", flush=True)
        with Contest(entries) as contest:
            contest.warm_up(1, 2)
            rates, facts = contest.rates(scale.rounds, scale.seconds), contest.ask("facts")
            child = contest.children[OURS]
            peak, parts = child.ask("peak", scale.product), child.ask("breakdown", scale.rounds)
    targets = {name: fact["targets"] for name, fact in facts.items()}
    if len(set(targets.values())) != 1:
        raise RuntimeError(f"expected the same number of targets for all, got {targets}")
    shares = {
        name: statistics.median(rate) * work.flops() / (work.batch_size * work.length) / peak
        for name, rate in rates.items()
    }
    common = {"job": objective, "vocabulary": vocabulary}
    described = {
        name: common | _described(rates[name], facts[name], shares[name]) for name in rates
    }
    mine = described.pop(OURS) | {"milliseconds": parts, "peak_gflops": round(peak / 1e9)}
    rows = [
        common | peers[name] | harness.against(OURS, name, rates, facts) | theirs
        for name, theirs in described.items()
    ]
    for row in rows:
        rivals = [other for other in rows if other["peer"] == row["peer"]]
        row["fastest"] = row["ratio"] == min(other["ratio"] for other in rivals)
    return mine, rows


def _described(rates: list[float], facts: dict, share: float) -> dict:
    """One contestant's own figures."""
    parts = facts["memory_parts"]
    return {
        "tokens_per_second": round(statistics.median(rates)),
        "peak_share": round(share, 3),
        "memory_mib": round(facts["memory"] / 2**20, 1),
        "memory_parts_mib": {k: round(v / 2**20, 1) for k, v in parts.items() if v is not None},
        "parameters": facts["parameters"],
        "targets": facts["targets"],
        "loss": round(facts["loss"], 3),
    }


def _random_tokens(path: Path, vocabulary: int) -> Path:
    generator = np.random.default_rng(0)
    write_tokens(path, [generator.integers(len(SPECIALS), vocabulary, 2_000_000)])
    return path


def section(study: dict[str, Any]) -> str:
    """The section of RESULTS.md from what `pretraining` stored: a row a form, a column a job.

    A cell is our tokens per second over the library's, and our training memory over theirs.
    """
    columns = list(dict.fromkeys((row["job"], row["vocabulary"]) for row in study["rows"]))
    cells: dict[str, dict] = {}
    for row in study["rows"]:
        peer = row["peer"].replace("GPT-2", "model").replace("BERT", "model")
        described = ["as it comes"] * (row["form"].startswith("float32"))
        described += ["fastest form"] * row["fastest"]
        if described:
            name = f"{peer}, {' and '.join(described)}: {row['form']}"
            cell = f"{row['ratio']:.2f} ({row['memory_ratio']:.2f})"
            cells.setdefault(name, {})[row["job"], row["vocabulary"]] = cell
    rows = [[name, *(own.get(column, "") for column in columns)] for name, own in cells.items()]
    head = [f"{job}, vocabulary {size:,}" for job, size in columns]
    shares = [f"{100 * row['peak_share']:.0f} %" for row in study["ours"]]
    return markdown.section(
        "## Speed",
        "A step of our pretraining against the libraries': our tokens per second over theirs (above"
        " 1 we are faster), in brackets our training memory over theirs. One run, every contestant"
        f" in its own process; {study['step']}; {study['machine']}"
        " (`python -m benchmarks pretraining`).",
        markdown.table(["", *head], rows),
        f"Our step reaches {', '.join(shares)} of this machine's fastest matrix product "
        "(a number for each column).",
    )
