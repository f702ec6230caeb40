import json
import shutil
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from ignite.engine import Events

from tests.models import PLAIN
from tlcourse import corpora, objectives, recipes
from tlcourse.batching import TokenFile, encode_articles, generator_for, write_tokens
from tlcourse.bpe import Tokenizer, detokenise, normalise
from tlcourse.corpora import gutenberg
from tlcourse.corpora.catalogue import CORPORA
from tlcourse.pretraining import (
    OBJECTIVES,
    PretrainingRecipe,
    batches,
    compile_blocks,
    decay_began,
    optimizers_for,
    pretrain,
    pretrain_for,
    training_articles,
    write_corpus,
)
from tlcourse.transformer import Albert, Config, Transformer, bert

RECIPE = PretrainingRecipe(batch_size=4, length=16, warmup=2)
MASKED = replace(RECIPE, objective="masked")


@pytest.fixture
def file(tmp_path) -> TokenFile:
    ids = np.random.default_rng(0).integers(6, 60, 3000)
    write_tokens(tmp_path / "tokens.bin", [ids])
    return TokenFile(tmp_path / "tokens.bin")


def model_of(causal: bool = True) -> Transformer:
    torch.manual_seed(0)
    return Transformer(Config(60, 16, 2, 2, 32, 32, causal=causal))


def test_a_corpus_stops_after_the_article_that_fills_it(tmp_path):
    tokenizer = Tokenizer.train(["the rain on the trains"] * 2, 270)
    articles = [f"the rain on train {number}\n" for number in range(700)]
    encoded = list(encode_articles(articles, tokenizer))
    wanted = sum(map(len, encoded[:300])) - 3
    path = tmp_path / "tokens.bin"
    count = write_corpus(path, articles, tokenizer, tokens=wanted, progress=False)
    assert count == wanted + 3
    assert TokenFile(path).ids.tolist() == sum(encoded[:300], [])


def test_every_second_training_article_is_detokenised(monkeypatch):
    texts = {"one": [" a , b\n", " c , d\n"], "two": [" e @-@ f\n", " g 's , ( h )\n"]}
    one = replace(CORPORA["wikitext-2"], name="one")
    known = {"one": one, "two": replace(one, name="two")}
    monkeypatch.setattr("tlcourse.pretraining.corpus.CORPORA", known)
    monkeypatch.setattr("tlcourse.corpora.articles", texts.__getitem__)
    got = list(training_articles(["one", "two"]))
    assert got == [" a , b\n", " c, d\n", " e @-@ f\n", detokenise(" g 's , ( h )\n")]


def test_books_are_trained_on_as_people_wrote_them(monkeypatch, tmp_path):
    """Their paragraphs pass `normalise`, and count for nothing when every second article turns."""
    place = tmp_path / "gutenberg" / "gutenberg-00.jsonl"
    place.parent.mkdir()
    front = "\n\n".join(["front"] * gutenberg.FRONT)
    texts = [f"{front}\n\nIt was\n_not_ day .\n \n“A <mask> , Sir!”\n\n\n", f"{front}\n\nB\n"]
    place.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")
    facts = {"train": replace(gutenberg.FACTS["train"], rows=2, words=10, digest=None)}
    books = replace(gutenberg.CORPUS, facts=facts)
    monkeypatch.setitem(CORPORA, "gutenberg", books)
    monkeypatch.setenv("TLCOURSE_DATA", str(tmp_path))
    first, second = corpora.articles("gutenberg")
    assert (first, second) == ("It was not day .\n“A <mask> , Sir!”\n", "B\n")
    assert list(training_articles(["gutenberg"])) == [
        normalise("It was not day .") + "\n" + normalise("“A < mask > , Sir!”") + "\n",
        normalise("B") + "\n",
    ]


def test_muon_has_the_matrices_of_the_blocks_and_adamw_all_else():
    model = model_of()
    muon, adamw = optimizers_for(model, RECIPE)
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    by_muon = {names[id(p)] for g in muon.param_groups for p in g["params"]}
    by_adamw = {names[id(p)] for g in adamw.param_groups for p in g["params"]}
    layers = ("query", "key", "value", "output", "up", "down")
    matrices = {n for n in names.values() if n.endswith(tuple(f"{x}.weight" for x in layers))}
    assert by_muon == matrices and len(matrices) == 12
    assert by_adamw == set(names.values()) - matrices


@pytest.mark.parametrize("muon_learning_rate", [None, 0.01])  # without it AdamW has all
@pytest.mark.parametrize("weight_decay", [0.1, 0.3])
def test_the_weights_of_the_matrices_decay_and_no_others(muon_learning_rate, weight_decay):
    model = model_of()
    recipe = replace(RECIPE, muon_learning_rate=muon_learning_rate, weight_decay=weight_decay)
    optimizers = optimizers_for(model, recipe)
    assert len(optimizers) == (1 if muon_learning_rate is None else 2)
    groups = [group for optimizer in optimizers for group in optimizer.param_groups]
    decay = {id(p): group["weight_decay"] for group in groups for p in group["params"]}
    inside = {id(p) for p in model.blocks.parameters() if p.ndim == 2}
    assert decay == {id(p): weight_decay if id(p) in inside else 0.0 for p in model.parameters()}


@pytest.mark.parametrize("muon_learning_rate", [None, 0.01])
def test_a_parameter_that_layers_share_is_updated_once_a_step(muon_learning_rate):
    model = Albert(bert(vocabulary_size=60, width=16, layers=3, heads=2, feed_forward=32))
    recipe = replace(RECIPE, muon_learning_rate=muon_learning_rate)
    groups = [g for optimizer in optimizers_for(model, recipe) for g in optimizer.param_groups]
    given = [id(p) for group in groups for p in group["params"]]
    assert sorted(given) == sorted(map(id, model.parameters()))


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_run_takes_its_budget_in_steps_ends_decayed_and_moves_everything(file, objective):
    model = model_of(causal=objective != "masked")
    before = {name: p.clone() for name, p in model.named_parameters()}
    history = pretrain(
        model, file, 1000, recipe=replace(RECIPE, objective=objective), compute=PLAIN
    )
    assert len(history) == 1000 // 64
    assert [r["factor"] for r in history][:3] == [0.5, 1, 1]
    assert 0 < history[-1]["factor"] < 0.2
    begin = decay_began(history, replace(RECIPE, warmup=100))  # the warm-up is capped
    assert begin == next(r["step"] for r in history[2:] if r["factor"] < 1)
    moved = {name for name, p in model.named_parameters() if not torch.equal(p, before[name])}
    assert moved == set(before)


def test_the_loss_of_a_text_with_a_rule_falls(tmp_path):
    write_tokens(tmp_path / "tokens.bin", [np.arange(4000) % 7 + 10])
    file = TokenFile(tmp_path / "tokens.bin")
    for objective in OBJECTIVES:
        recipe = replace(RECIPE, objective=objective)
        history = pretrain(
            model_of(objective != "masked"), file, 64 * 60, recipe=recipe, compute=PLAIN
        )
        assert history[0]["loss"] == pytest.approx(np.log(60), abs=0.1)
        assert history[-1]["loss"] < 2.5


def test_a_budget_below_one_step_is_refused(file):
    with pytest.raises(ValueError, match=r"at least one step \(64 tokens\), got 63"):
        pretrain(model_of(), file, 63, recipe=RECIPE, compute=PLAIN)


def test_another_budget_in_the_same_folder_is_refused(file, tmp_path):
    more = {"recipe": RECIPE, "compute": PLAIN, "folder": tmp_path / "run"}
    pretrain(model_of(), file, 128, **more)
    with pytest.raises(ValueError, match="tokens was 128, now 256"):
        pretrain(model_of(), file, 256, **more)


def test_a_run_does_not_go_on_from_other_weights_than_it_began_with(file, tmp_path):
    more = {"recipe": RECIPE, "compute": PLAIN, "folder": tmp_path / "run"}
    pretrain(model_of(), file, 128, **more)
    pretrain(model_of(), file, 128, **more)  # the same start
    other = model_of()
    with torch.no_grad():
        other.norm.bias[0] += 1e-3
    with pytest.raises(ValueError, match="start was '[0-9a-f]{16}', now '[0-9a-f]{16}'"):
        pretrain(other, file, 128, **more)


def test_each_objective_takes_its_own_batches(file):
    (tokens,) = batch = batches(file, model_of().config, RECIPE)(3)
    assert tokens.shape == (4, 17) and OBJECTIVES["causal"].loss(model_of(), batch)[1] == 4 * 16
    corrupted, tokens, chosen = batch = batches(file, model_of(False).config, MASKED)(3)
    wanted = objectives.mask_tokens(tokens, generator_for(RECIPE.seed, 3, 1), 60)
    assert tokens.shape == (4, 16)
    assert torch.equal(corrupted, wanted[0]) and torch.equal(chosen, wanted[1])
    assert OBJECTIVES["masked"].loss(model_of(False), batch)[1] == int(chosen.sum())
    batch = batches(file, model_of().config, replace(RECIPE, objective="hybrid"))(0)
    assert OBJECTIVES["hybrid"].loss(model_of(), batch)[1] == int(batch[2].sum())


@pytest.mark.parametrize(("share", "rows"), [(0.5, [1, 3]), (0.25, [3]), (1.0, [0, 1, 2, 3])])
def test_hybrid_batches_read_their_share_of_the_windows_causally(file, share, rows):
    recipe = replace(RECIPE, objective="hybrid", causal_share=share, mask_probability=0.5)
    inputs, targets, chosen, causal = batches(file, model_of().config, recipe)(3)
    (window,) = batches(file, model_of().config, RECIPE)(3)
    assert causal.nonzero().flatten().tolist() == rows
    assert torch.equal(targets, window[:, 1:])
    assert torch.equal(inputs[causal], window[causal, :-1]) and chosen[causal].all()
    changed = (inputs != window[:, :-1])[~causal]
    assert not chosen[~causal][:, -1].any() and not changed[:, 0].any()
    assert (chosen[~causal][:, :-1] | ~changed[:, 1:]).all()  # what was changed is asked for


def test_blocks_compile_where_pytorch_lost_its_private_setting(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch._functorch.config", None)
    monkeypatch.delattr("torch._functorch.config", raising=False)
    compiled = []
    monkeypatch.setattr(torch.nn.Module, "compile", lambda module: compiled.append(module))
    compile_blocks(model_of(), compute=PLAIN)
    assert len(compiled) == 2


def test_a_run_on_minutes_needs_no_folder_and_a_handler_may_end_it(file):
    more = {"recipe": RECIPE, "compute": PLAIN}
    history, begin = pretrain_for(model_of(), file, 1 / 60, **more)
    assert 0 < begin < len(history) and history[-1]["factor"] < 1

    def after_three(engine):
        engine.add_event_handler(Events.ITERATION_COMPLETED(once=3), engine.terminate)

    assert len(pretrain(model_of(), file, 1000, handlers=[after_three], **more)) == 3


def test_a_run_on_minutes_ends_decayed_and_says_when_the_decay_began(file, tmp_path):
    model = model_of()
    history, begin = pretrain_for(
        model, file, 2 / 60, recipe=RECIPE, compute=PLAIN, folder=tmp_path
    )
    factors = [record["factor"] for record in history]
    assert factors[:2] == [0.5, 1] and set(factors[1 : begin + 1]) == {1.0}
    rest = len(history) - begin
    assert factors[begin:] == pytest.approx([1 - step / rest for step in range(rest)])
    assert history[begin - 1]["seconds"] >= 0.6 * 2 > history[begin - 2]["seconds"]
    again = model_of()
    assert pretrain_for(again, file, 2 / 60, recipe=RECIPE, compute=PLAIN, folder=tmp_path) == (
        history,
        begin,
    )
    for name, tensor in again.state_dict().items():
        assert torch.equal(tensor, model.state_dict()[name]), name


def test_a_run_on_minutes_goes_on_after_a_stop_in_its_decay_bit_for_bit(file, tmp_path):
    whole = model_of()
    more = {"recipe": RECIPE, "compute": PLAIN}
    history, begin = pretrain_for(whole, file, 1 / 60, folder=tmp_path, **more)

    def stop(record: dict) -> None:
        if record["step"] == begin:  # there may be no second one, on a machine that is busy
            raise KeyboardInterrupt

    # The same plan in another folder: stopped in its first step of decay, then gone on with.
    other = tmp_path / "other"
    shutil.copytree(tmp_path, other, ignore=lambda *_: ["training_state.pt", "other"])
    with pytest.raises(KeyboardInterrupt):
        pretrain_for(model_of(), file, 1 / 60, folder=other, on_step=[stop], **more)
    resumed = model_of()
    assert len(pretrain_for(resumed, file, 1 / 60, folder=other, **more)[0]) == len(history)
    for name, tensor in resumed.state_dict().items():
        assert torch.equal(tensor, whole.state_dict()[name]), name


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"objective": "sorcery"}, "an objective out of causal, masked, hybrid, got 'sorcery'"),
        ({"batch_size": 0}, "batch_size: expected a whole number at least 1, got 0"),
        ({"decay": 1.5}, "decay: expected a number at least 0, at most 1, got 1.5"),
        ({"muon_learning_rate": 0}, "muon_learning_rate: expected a number above 0, got 0"),
    ],
)
def test_a_recipe_refuses_what_is_out_of_its_range(wrong, said):
    with pytest.raises(ValueError, match=said):
        PretrainingRecipe(**wrong)
    assert list(OBJECTIVES) == list(recipes.OBJECTIVES)
