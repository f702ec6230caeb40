"""What works on a Transformer works on an LSTM: pretraining, evaluation, adaptation, probing."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from ignite.engine import Events
from torch.nn import functional as F

from tests.adaptation.made import LABELLED, LABELS, TEXTS, TOKENIZER
from tests.evaluation.test_perplexity import ARTICLES, stream
from tests.evaluation.test_perplexity import TOKENIZER as OF_ARTICLES
from tests.models import PLAIN
from tlcourse import checkpoints, probing
from tlcourse.adaptation import (
    FULL,
    SCHEMES,
    ByLayer,
    Classifier,
    GradualUnfreezing,
    LanguageModelling,
    Recipe,
    Scheme,
    SlantedTriangular,
    adapt,
)
from tlcourse.batching import TokenFile, pad, write_tokens
from tlcourse.evaluation import (
    beam_search,
    evaluate,
    evaluate_masked,
    generate,
    sentence_scores,
)
from tlcourse.generation import NEVER
from tlcourse.objectives import BidirectionalLM
from tlcourse.pretraining import PretrainingRecipe, pretrain
from tlcourse.recurrent import LSTM, BiLSTM, BiLSTMConfig, LSTMConfig

SIZE = 60
CONFIG = LSTMConfig(SIZE, 16, (24, 20), max_length=48)
DROPPING = replace(CONFIG, weight_drop=0.5, embedding_dropout=0.1, input_dropout=0.2, dropout=0.2)
BOTH = BiLSTMConfig(SIZE, 32, (16, 16), max_length=48)
RECIPE = PretrainingRecipe(
    batch_size=4, length=24, warmup=2, learning_rate=1e-2, muon_learning_rate=None
)
KINDS = {"LSTM": (CONFIG, None), "AWD": (DROPPING, None), "BiLSTM": (BOTH, BidirectionalLM())}
SMALL = Recipe(epochs=3, batch_size=4, learning_rate=1e-3)  # 12 steps
two_kinds = pytest.mark.parametrize("config", [CONFIG, BOTH], ids=["LSTM", "BiLSTM"])
each_kind = pytest.mark.parametrize(("config", "objective"), KINDS.values(), ids=KINDS)


def body(config: LSTMConfig, vocabulary_size: int = SIZE) -> LSTM | BiLSTM:
    torch.manual_seed(0)
    return checkpoints.new(replace(config, vocabulary_size=vocabulary_size)).eval()


@pytest.fixture
def file(tmp_path) -> TokenFile:
    write_tokens(tmp_path / "tokens.bin", [np.arange(4000) % 7 + 10])
    return TokenFile(tmp_path / "tokens.bin")


@each_kind
def test_pretraining_lowers_the_loss_and_moves_everything(config, objective, file):
    model = body(config)
    before = {name: p.clone() for name, p in model.named_parameters()}
    more = {"recipe": RECIPE, "objective": objective, "compute": PLAIN}
    history = pretrain(model, file, 60 * 4 * 24, **more)
    assert history[0]["loss"] > 3.5 and history[-1]["loss"] < 2.5
    assert not [name for name, p in model.named_parameters() if torch.equal(p, before[name])]


@each_kind
def test_a_run_that_was_stopped_ends_as_one_that_was_not(config, objective, file, tmp_path):
    more = {"recipe": RECIPE, "objective": objective, "compute": PLAIN}
    whole = body(config)
    history = pretrain(whole, file, 6 * 4 * 24, **more)

    def stop(record: dict) -> None:
        if record["step"] == 2:
            raise KeyboardInterrupt

    more["folder"] = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        pretrain(body(config), file, 6 * 4 * 24, on_step=[stop], **more)
    resumed = body(config)
    again = pretrain(resumed, file, 6 * 4 * 24, **more)
    assert [record["loss"] for record in again] == [record["loss"] for record in history]
    for name, tensor in whole.state_dict().items():
        assert torch.equal(resumed.state_dict()[name], tensor), name


@torch.no_grad()
def test_the_perplexity_is_that_of_every_token_from_its_past():
    model, ids = body(CONFIG, 275), stream()
    found = evaluate(model, OF_ARTICLES, ARTICLES, window=len(ids), stride=8, compute=PLAIN)
    nats, state = 0.0, None
    for token, after in zip(ids[:-1], ids[1:], strict=True):  # a token at a time
        hidden, state = model.read(torch.tensor([[token]]), state=state)
        if after != ids[0]:  # <eos> is no part of the text
            nats -= model.logits(hidden)[0, 0].log_softmax(-1)[after].item()
    assert found.nats == pytest.approx(nats, rel=1e-5)


def test_text_is_written_by_reading_each_token_once():
    model = body(CONFIG)
    with torch.no_grad():
        model.embedding.weight.mul_(3)  # so that the likeliest token is not always the last one
    read = []
    model.embedding.register_forward_pre_hook(lambda _, inputs: read.append(inputs[0].shape[1]))
    new = generate(model, [10, 11, 12], 60, temperature=0, stop=())
    assert read == [3] + 59 * [1]  # beyond `max_length`, too
    tokens = [10, 11, 12]
    for token in new:
        logits = model(torch.tensor([tokens]))[0, -1]
        logits[list(NEVER)] = -torch.inf
        assert token == logits.argmax()
        tokens.append(token)
    assert len(set(new)) > 1


def test_enough_beams_find_the_best_continuation():
    model = body(CONFIG)
    allowed = [20, 21, 22]
    never = sorted(set(range(SIZE)) - set(allowed))
    found = beam_search(model, [10, 11], 3, beams=27, stop=(), never=never)
    texts = torch.cartesian_prod(*3 * [torch.tensor(allowed)])
    whole = F.pad(texts, (2, 0))
    whole[:, :2] = torch.tensor([10, 11])
    logits = model(whole[:, :-1])
    logits[..., never] = -torch.inf
    scores = logits.log_softmax(-1)[:, 1:].gather(2, texts[..., None]).sum(dim=(1, 2))
    assert found == texts[scores.argmax()].tolist()


def classifier(config: LSTMConfig, pooling: str = "mean") -> Classifier:
    model = body(config, TOKENIZER.vocabulary_size)
    torch.manual_seed(1)
    return Classifier(model, TOKENIZER, LABELS, pooling=pooling)


def adapted(start: Classifier, scheme: Scheme, recipe: Recipe = SMALL) -> Classifier:
    return adapt(start, 4 * TEXTS, 4 * LABELLED, scheme=scheme, recipe=recipe, compute=PLAIN)


ULMFIT = Scheme("ULMFiT", groups=ByLayer(2.6), schedule=GradualUnfreezing(SlantedTriangular()))


@two_kinds
@pytest.mark.parametrize("pooling", ["mean", "concatenation", "classification token"])
def test_a_classifier_learns_its_texts(config, pooling):
    longer = Recipe(epochs=15, batch_size=4, learning_rate=1e-2)
    done = adapted(classifier(config, pooling), FULL, longer)
    losses = [record["loss"] for record in done.report.history]
    assert losses[-1] < 0.5 * losses[0]
    assert set(done.report.moved) == set(done.report.declared)
    assert done.head.in_features == (3 if pooling == "concatenation" else 1) * config.width


@two_kinds
def test_the_pooling_of_ulmfit_is_that_of_each_text_alone(config):
    start = classifier(config, "concatenation").eval()
    sequences = start.encode(TEXTS)
    tokens, mask = pad(sequences)
    for features, ids in zip(start.features(tokens, mask), sequences, strict=True):
        states = start.body.hidden(torch.tensor([ids]))[0, :-1]  # without <cls>
        expected = torch.cat([states[-1], states.max(dim=0).values, states.mean(dim=0)])
        torch.testing.assert_close(features, expected)


@two_kinds
def test_layers_are_groups_with_rates_of_their_own(config):
    start = classifier(config)
    groups = ByLayer(2.6)(start, ())
    assert list(groups) == ["embedding", "block 0", "block 1", "head"]
    assert [group.factor for group in groups.values()] == pytest.approx([2.6**-2, 1 / 2.6, 1, 3])
    for layer in (0, 1):
        names = groups[f"block {layer}"].names
        own = {id(p) for p in start.body.blocks[layer].parameters()}
        assert {id(start.get_parameter(name)) for name in names} == own
    assert [name.split(".")[-2:] for name in groups["embedding"].names] == [["embedding", "weight"]]


@two_kinds
def test_unfreezing_moves_the_layers_that_are_due(config):
    moved = {}

    def watch(engine) -> None:
        before = {name: p.clone() for name, p in engine.model.named_parameters()}

        @engine.on(Events.ITERATION_COMPLETED)
        def compare() -> None:
            now = dict(engine.model.named_parameters())
            moved[engine.state.iteration] = {
                name for name in before if not torch.equal(now[name], before[name])
            }

    start = classifier(config)
    groups = ByLayer()(start, ())
    adapt(
        start, 4 * TEXTS, 4 * LABELLED, scheme=ULMFIT, recipe=SMALL, compute=PLAIN,
        handlers=[watch],
    )  # fmt: skip
    due = set()
    for layer, step in (("head", 1), ("block 1", 3), ("block 0", 5), ("embedding", 7)):
        due |= set(groups[layer].names)
        assert moved[step] == moved[step + 1] == due


@pytest.mark.parametrize("name", ["frozen body", "top 2 layers", "BitFit", "L2-SP"])
def test_schemes_that_add_nothing_move_what_they_declare(name):
    found = adapted(classifier(replace(CONFIG, units=(12, 12, 12))), SCHEMES[name]).report
    assert set(found.moved) == set(found.declared) and found.start_difference == 0.0


def test_the_language_model_s_loss_is_added_for_one_direction_alone():
    scheme = Scheme(extra_loss=LanguageModelling(0.3))
    found = adapted(classifier(CONFIG), scheme).report
    assert found.history[-1]["loss"] < found.history[0]["loss"]
    with pytest.raises(ValueError, match="expected a causal body"):
        adapted(classifier(BOTH), scheme)


def test_a_mix_of_layers_is_elmo_s_and_needs_layers_of_one_width():
    start = classifier(BOTH)
    done = adapted(start, SCHEMES["mix of layers"])
    assert done.mix.weights.shape == (3,) and set(done.report.moved) == set(done.report.declared)
    with pytest.raises(ValueError, match=r"got the widths \(16, 24, 16\)"):
        adapted(classifier(CONFIG), SCHEMES["mix of layers"])


@pytest.mark.parametrize("name", ["LoRA", "Houlsby adapters", "Pfeiffer adapters", "prefix tuning"])
@two_kinds
def test_edits_of_attention_are_refused(name, config):
    with pytest.raises(ValueError, match="got a recurrent one; choose a scheme that adds nothing"):
        adapted(classifier(config), SCHEMES[name])


@two_kinds
@pytest.mark.parametrize("kept", [False, True])
def test_the_states_of_words_are_those_of_each_sentence_alone(config, kept, tmp_path):
    model = body(config, TOKENIZER.vocabulary_size)
    sentences = [text.split() for text in TEXTS]
    folder = tmp_path if kept else None
    features = probing.extract(model, TOKENIZER, sentences, folder=folder, compute=PLAIN)
    assert [layer.shape[1] for layer in features.layers] == list(config.widths)
    for number, aligned in enumerate(probing.align(TOKENIZER, sentences)):
        states = model.hidden_states(torch.tensor([aligned.tokens]))
        for layer, state in enumerate(states):
            expected = [state[0, first:end].mean(dim=0) for first, end in aligned.spans]
            found = torch.from_numpy(np.array(features.sentence(number, layer))).float()
            torch.testing.assert_close(found, torch.stack(expected), atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize("config", [CONFIG, DROPPING, BOTH], ids=KINDS)
def test_a_checkpoint_is_the_model_in_half_precision(config, tmp_path):
    model = body(config, TOKENIZER.vocabulary_size)
    checkpoints.save(tmp_path / "made", model, TOKENIZER)
    loaded, tokenizer = checkpoints.load(tmp_path / "made", PLAIN)
    assert type(loaded) is type(model) and loaded.config == model.config
    assert tokenizer.merges == TOKENIZER.merges
    tokens = torch.randint(TOKENIZER.vocabulary_size, (2, 9))
    assert torch.equal(loaded.hidden(tokens), model.half().float().hidden(tokens))
    if isinstance(loaded, BiLSTM):
        assert loaded.backward_lm.embedding is loaded.forward_lm.embedding


@two_kinds
def test_an_adapted_classifier_is_kept_with_its_body(config, tmp_path):
    done = adapted(classifier(config), ULMFIT)
    done.save(tmp_path / "kept")
    loaded = Classifier.load(tmp_path / "kept", compute=PLAIN)
    assert type(loaded.body) is type(done.body) and loaded.scheme == ULMFIT
    expected = done.probabilities(TEXTS, compute=PLAIN)
    assert torch.equal(loaded.probabilities(TEXTS, compute=PLAIN), expected)


@two_kinds
@torch.no_grad()
def test_states_can_be_changed_while_the_model_runs(config):
    model, tokens = body(config), torch.randint(SIZE, (2, 9))
    states = model.hidden_states(tokens)
    directions = np.eye(config.widths[1])[:2]
    with probing.removing(model, directions, 1):
        found = model.hidden_states(tokens)
    assert torch.equal(found[0], states[0])
    assert not found[1][..., :2].any() and torch.equal(found[1][..., 2:], states[1][..., 2:])
    assert not torch.equal(found[2], states[2])


def test_readings_that_a_recurrent_model_does_not_have_are_refused():
    model, both = body(CONFIG, 275), body(BOTH, 275)
    assert len(sentence_scores(model, OF_ARTICLES, ["The rain."], compute=PLAIN)) == 1
    with pytest.raises(ValueError, match="an LSTM sees one side of a word alone"):
        sentence_scores(model, OF_ARTICLES, ["The rain."], reading="masked", compute=PLAIN)
    with pytest.raises(ValueError, match="an LSTM sees one side of a word alone"):
        evaluate_masked(model, OF_ARTICLES, ARTICLES, compute=PLAIN)
    for measure in (evaluate, sentence_scores):
        with pytest.raises(ValueError, match="got a BiLSTM; take its forward_lm or backward_lm"):
            measure(both, OF_ARTICLES, ARTICLES, compute=PLAIN)
    assert evaluate(both.forward_lm, OF_ARTICLES, ARTICLES, compute=PLAIN).nats > 0
