"""The packed files of models: 8 bits as they are described, and little lost."""

import gzip

import pytest
import torch
from safetensors.torch import load, save

from tlcourse import checkpoints, corpora, files
from tlcourse.bpe import MASK
from tlcourse.page import packing, prerender, trec
from tlcourse.page.models import CLASSIFIERS
from tlcourse.page.packing import WEIGHTS
from tlcourse.transformer import record


def test_each_weight_is_the_nearest_step_of_its_row() -> None:
    draw = torch.Generator().manual_seed(0)
    matrix = torch.randn(5, 40, generator=draw) * torch.tensor([[1e-6], [1e-3], [1], [1e3], [0]])
    whole, scale = packing.quantised(matrix)
    assert whole.dtype == torch.int8 and scale.shape == (5,) and scale.dtype == torch.float32
    assert whole[:4].abs().amax(1).tolist() == [127] * 4 and not whole[4].any()
    rounded = packing.rounded(matrix)
    assert ((rounded - matrix).abs() <= 0.5001 * scale[:, None]).all()
    assert torch.allclose(rounded.abs().amax(1), matrix.abs().amax(1))


def test_the_file_holds_what_is_described() -> None:
    folder = checkpoints.folder_of("causal-small")
    before = (folder / WEIGHTS).read_bytes()
    content = packing.packed(WEIGHTS, before)
    assert content == packing.packed(WEIGHTS, before), "the same bytes each time"
    found, kept = load(gzip.decompress(content)), load(before)
    matrices = {name for name, each in kept.items() if each.ndim == 2}
    assert len(matrices) == 37
    assert set(found) == {*kept, *(f"{name}.scale" for name in matrices)}
    rounded = dict(packing.load_rounded(folder)[0].named_parameters())
    for name, each in kept.items():
        if name in matrices:
            assert found[name].dtype == torch.int8
            assert torch.equal(found[name] * found[f"{name}.scale"][:, None], rounded[name])
        else:
            assert torch.equal(found[name], each) and found[name].dtype == torch.float16


def test_other_files_are_packed_as_they_are() -> None:
    assert gzip.decompress(packing.packed("config.json", b"{}")) == b"{}"
    weights = {"bias": torch.ones(3)}
    assert load(packing.in_8_bits(save(weights)))["bias"].tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("name", "examples"), [("causal-small", prerender.CAUSALS), ("masked-small", prerender.MASKEDS)]
)
@torch.no_grad()
def test_what_the_page_tells_of_its_examples_holds(name: str, examples: tuple[str, ...]) -> None:
    """Its guesses, and where its heads look, are almost those of the half-precision weights."""
    half, tokenizer = checkpoints.load(name, packing.PLAIN)
    eight, _ = packing.load_rounded(name)
    for text in examples:
        ids = prerender.ids_of(tokenizer, text, half.config.causal)
        place = ids.index(MASK) if MASK in ids else len(ids) - 1
        found = []
        for model in (half, eight):
            with record(model) as seen:
                shares = model(torch.tensor([ids]))[0, place].softmax(-1)
            looks = torch.stack(seen.attention)[:, 0, :, place]  # layers, heads, tokens
            found.append((shares, looks))
        (before, looked), (after, looks) = found
        assert before.argmax() == after.argmax(), text
        assert float((before - after).abs().max()) < 0.02, text
        assert float((looked - looks).abs().max()) < 0.05, text


def test_questions_keep_their_labels() -> None:
    """Those of the bundled sample, and the one that the tour asks."""
    folder = files.root() / CLASSIFIERS / "trec-lora"
    sample = corpora.load("trec", source="sample")["test"]["text"]
    questions = ["Who wrote the first book about whales?", *sample]
    half, eight = trec.load(folder), trec.load(folder)
    packing.round_matrices(eight)
    assert half.predict(questions) == eight.predict(questions)
    assert eight.predict(questions[:1]) == ["HUM"]
