"""Pretraining steps: ours against transformers' GPT-2 and BERT and torch.nn.TransformerEncoder.

Causal and masked (15 % of the tokens are targets), at two vocabularies, on random tokens. A row's
`ratio` is our tokens per second divided by the peer's: above 1, ours is faster; `memory_ratio` is
our training memory divided by theirs: below 1, ours is smaller. Each peer runs in the form in which
it comes and in faster ones; `fastest` marks the best of them in this run. Our training loop has
the C library keep freed memory, which plain loops do not; so transformers' last form runs a second
time with that setting, as a peer of its own. `peak_share` is the share
of the measured peak of a matrix product; the operations counted are those that the job needs, so
that projecting positions without a target earns nothing.
"""

import statistics
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import transformers

from benchmarks import runner
from benchmarks.speed.baselines import GPT2, Bert, Encoder, Form
from benchmarks.speed.harness import Contest, Entry, ratio
from benchmarks.speed.language_models import Ours, Peer, Workload
from tlcourse import device, sizes
from tlcourse.batching import write_tokens
from tlcourse.bpe import SPECIALS
from tlcourse.transformer import Config

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


def forms(build: type, compute: device.Compute, compiles: bool) -> list[Form]:
    """As it comes, then faster: in our precision, with the quicker attention, compiled."""
    fast = compute.precision
    if build is Encoder:  # its attention cannot be chosen
        found = [Form(fast, "sdpa"), Form(fast, "sdpa", compiles)]
    else:
        quicker = "eager" if compute.attention == "explicit" else "sdpa"
        found = [Form(torch.float32, "sdpa"), Form(fast, "sdpa"), Form(fast, quicker, compiles)]
    return list(dict.fromkeys(found))


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
    """One contest against the peers in `builds`: what we did, and a row for each of their forms."""
    config = Config(
        vocabulary, scale.width, scale.layers, scale.heads, 4 * scale.width,
        max(256, scale.length), causal=objective == "causal",
    )  # fmt: skip
    compute = device.choose()
    with tempfile.TemporaryDirectory() as folder:
        tokens = _random_tokens(Path(folder) / "tokens.bin", vocabulary)
        work = Workload(
            objective, config, scale.batch_size, scale.length, str(tokens), scale.compiles
        )
        entries, peers = [Entry(OURS, Ours, {"work": work})], {}
        for name, build in builds.items():
            found = forms(build, compute, scale.compiles and compute.compiles)
            has_setting = build is not Encoder and compute.device.type == "cpu"
            tuned = [(f"{name}, {TUNED}", found[-1], True)] * has_setting
            for peer, form, keeps in [(name, form, False) for form in found] + tuned:
                arguments = {"work": work, "build": build, "form": form, "keeps_memory": keeps}
                entries.append(Entry(f"{peer}, {form}", Peer, arguments))
                peers[entries[-1].name] = {"peer": peer, "form": str(form)}
        print(f"{objective}, vocabulary {vocabulary:,}: warming up", flush=True)
        with Contest(entries) as contest:
            contest.warm_up(1, 2)
            rates, facts = contest.rates(scale.rounds, scale.seconds), contest.ask("facts")
            child = contest.children[OURS]
            peak, parts = child.ask("peak", scale.product), child.ask("breakdown", scale.rounds)
    _same_work(facts)
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
        common
        | peers[name]
        | ratio(rates[OURS], rates[name])
        | {"memory_ratio": round(facts[OURS]["memory"] / facts[name]["memory"], 3)}
        | theirs
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


def _same_work(facts: dict[str, dict]) -> None:
    """Raises RuntimeError unless everybody predicted the same number of targets."""
    targets = {name: fact["targets"] for name, fact in facts.items()}
    if len(set(targets.values())) != 1:
        raise RuntimeError(f"expected the same number of targets for all, got {targets}")


def _random_tokens(path: Path, vocabulary: int) -> Path:
    generator = np.random.default_rng(0)
    write_tokens(path, [generator.integers(len(SPECIALS), vocabulary, 2_000_000)])
    return path
