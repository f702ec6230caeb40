"""What only a GPU can show: the same results there as on the CPU, and the ways that are its own."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from ignite.engine import Events

from tests.models import PLAIN as CPU
from tlcourse import checkpoints, corpora, device, evaluation
from tlcourse.adaptation import Classifier, Recipe, adapt
from tlcourse.batching import TokenFile, write_tokens
from tlcourse.device import Compute
from tlcourse.memory import training_memory
from tlcourse.objectives import causal_loss
from tlcourse.pretraining import OBJECTIVES, PretrainingRecipe, pretrain
from tlcourse.training import STATE
from tlcourse.transformer import Config, Transformer

pytestmark = pytest.mark.cuda
RECIPE = PretrainingRecipe(batch_size=4, length=32, warmup=2)
STEPS, STEP = 12, 4 * 32


@pytest.fixture(scope="module")
def gpu() -> Compute:
    return device.choose()


@pytest.fixture(scope="module")
def exact(gpu) -> Compute:
    """The GPU in float32, so that only the order of sums differs from the CPU's."""
    return replace(gpu, precision=torch.float32, compiles=False)


@pytest.fixture
def file(tmp_path) -> TokenFile:
    ids = 5 + np.random.default_rng(0).geometric(0.1, 6000).clip(max=290)  # some more often
    write_tokens(tmp_path / "tokens.bin", [ids])
    return TokenFile(tmp_path / "tokens.bin")


def model_of(causal: bool = True, compute: Compute = CPU) -> Transformer:
    torch.manual_seed(0)
    model = Transformer(Config(300, 64, 2, 2, 128, 64, causal=causal))
    model.to(compute.device).set_attention(compute.attention)
    return model


def losses(file, compute, objective="causal", steps=STEPS, **more) -> list[float]:
    recipe, model = replace(RECIPE, objective=objective), model_of(objective != "masked")
    history = pretrain(model, file, steps * STEP, recipe=recipe, compute=compute, **more)
    return [record["loss"] for record in history]


def test_the_gpu_is_chosen_with_fused_attention_and_half_precision(gpu):
    assert gpu.device.type == "cuda" and gpu.attention == "sdpa"
    assert gpu.precision in (torch.bfloat16, torch.float16)
    assert torch.cuda.get_device_name() in device.describe(gpu)


@pytest.mark.parametrize("causal", [True, False])
def test_logits_and_gradients_are_those_of_the_cpu(exact, causal):
    tokens = torch.randint(300, (3, 40), generator=torch.Generator().manual_seed(1))
    found = []
    for compute in (CPU, exact):
        model = model_of(causal)
        for parameter in model.parameters():  # new blocks start as the identity: make them speak
            parameter.data.add_(0.1 * torch.randn_like(parameter))
        model.to(compute.device).set_attention(compute.attention)
        logits = model(tokens.to(compute.device))
        logits.square().mean().backward()
        found.append([logits, *(p.grad for p in model.parameters())])
    for here, there in zip(*found, strict=True):
        assert torch.allclose(here, there.cpu(), rtol=1e-3, atol=1e-4 * here.abs().max().item())


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_pretraining_goes_as_on_the_cpu(file, exact, objective):
    assert losses(file, exact, objective) == pytest.approx(losses(file, CPU, objective), rel=2e-3)


def test_half_precision_learns_as_float32_does(file, gpu, exact):
    half = losses(file, replace(gpu, compiles=False))
    assert half[-1] < half[0]
    assert half == pytest.approx(losses(file, exact), rel=2e-2)


def test_compiled_blocks_change_nothing_but_rounding(gpu):
    tokens = torch.randint(300, (4, 33), generator=torch.Generator().manual_seed(1))
    found = []
    for compiled in (False, True):
        model = model_of(compute=gpu)
        for block in model.blocks if compiled else ():
            block.compile()
        with gpu.autocast():
            nats, _ = causal_loss(model, tokens.to(gpu.device))
        nats.backward()
        found.append([nats.detach(), *(p.grad for p in model.parameters())])
    for one, other in zip(*found, strict=True):
        assert (one - other).norm() <= 0.05 * one.norm() + 1e-3


def test_a_state_written_on_the_gpu_is_gone_on_with(file, gpu, tmp_path):
    def stop(engine) -> None:
        engine.add_event_handler(Events.ITERATION_COMPLETED, engine.terminate)

    eager = replace(gpu, compiles=False)
    whole = losses(file, eager)
    for _ in range(2):  # a step each
        some = losses(file, eager, folder=tmp_path, handlers=[stop])
    assert len(some) == 2 and (tmp_path / STATE).exists()
    assert losses(file, eager, folder=tmp_path) == pytest.approx(whole, rel=1e-2)


def test_perplexity_is_that_of_the_cpu(exact):
    articles = list(corpora.articles(corpora.load("wikitext-2", source="sample")["validation"]))[:1]
    found = []
    for compute in (CPU, exact):
        model, tokenizer = checkpoints.load("causal-small", compute)
        figures = evaluation.evaluate(model, tokenizer, articles, compute=compute)
        found.append(figures.word_perplexity)
    assert found[1] == pytest.approx(found[0], rel=1e-3)


def test_fine_tuning_gives_probabilities_near_the_cpus(exact):
    data = corpora.load("trec", source="sample")["train"].select(range(48))
    found = []
    for compute in (CPU, exact):
        more = {"labels": corpora.TREC_LABELS, "pooling": "mean", "dropout": 0.0}
        start = Classifier.from_checkpoint("causal-small", seed=0, compute=compute, **more)
        recipe = Recipe(epochs=2, batch_size=8)
        adapted = adapt(start, data["text"], data["label"], recipe=recipe, compute=compute)
        found.append(adapted.probabilities(data["text"][:8], compute=compute).cpu())
    assert torch.allclose(*found, atol=0.02)


def test_training_memory_has_the_allocators_peak(gpu):
    model = model_of(compute=gpu)
    tokens = torch.randint(300, (4, 33), device=gpu.device)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    memory = training_memory(model, [optimizer], lambda: causal_loss(model, tokens)[0])
    assert memory.allocator_peak >= memory.parameters + memory.gradients
