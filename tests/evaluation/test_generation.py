import itertools
from collections import Counter

import pytest
import torch

from tlcourse.batching import generator_for
from tlcourse.bpe import EOS, MASK, SPECIALS
from tlcourse.evaluation import beam_search, fill_masks, generate
from tlcourse.transformer import Config, EncoderDecoder, Transformer


class Fixed(torch.nn.Module):
    """A "model" with the same logits everywhere, or a function of the last token."""

    def __init__(self, logits, causal=True, max_length=8):
        super().__init__()
        self.logits = torch.nn.Parameter(torch.as_tensor(logits, dtype=torch.float))
        self.config = Config(len(logits), 4, 1, 2, 8, max_length, causal=causal)
        self.lengths = []

    def forward(self, tokens):
        self.lengths.append(tokens.shape[1])
        return self.logits.expand(*tokens.shape, -1)


def logits_of(**shares) -> list[float]:
    """Logits over 12 ids; `id7=0.5` gives id 7 half of the probability."""
    rest = {int(name[2:]): share for name, share in shares.items()}
    return [float(torch.tensor(rest.get(i, 1e-9)).log()) for i in range(12)]


def test_temperature_0_takes_the_likeliest():
    model = Fixed(logits_of(id7=0.4, id8=0.6))
    assert generate(model, [6], 5, generator=generator_for(0), temperature=0) == [8] * 5


@pytest.mark.parametrize(("temperature", "share"), [(1.0, 0.8), (0.5, 16 / 17), (2.0, 2 / 3)])
def test_shares_follow_the_temperature(temperature, share):
    model = Fixed(logits_of(id7=0.8, id8=0.2))
    drawn = Counter(
        generate(model, [6], 3000, generator=generator_for(1), temperature=temperature, top_k=12)
    )
    assert drawn[7] / 3000 == pytest.approx(share, abs=0.025)


def test_top_k_leaves_only_the_likeliest():
    model = Fixed(logits_of(id7=0.4, id8=0.3, id9=0.2, id10=0.1))
    drawn = Counter(generate(model, [6], 400, generator=generator_for(2), temperature=1.0, top_k=2))
    assert set(drawn) == {7, 8}
    assert generate(model, [6], 9, generator=generator_for(2), temperature=1.0, top_k=1) == [7] * 9
    more = generate(model, [6], 9, generator=generator_for(2), temperature=1.0, top_k=1000)
    assert len(more) == 9


def test_eos_ends_and_no_other_special_is_ever_drawn():
    model = Fixed(logits_of(id5=0.3, id4=0.3, id1=0.3, id7=0.1))
    drawn = [
        generate(model, [6], 50, generator=generator_for(seed), temperature=1.0)
        for seed in range(20)
    ]
    for said in drawn:
        assert set(said) <= {7, EOS}
        assert EOS not in said[:-1]
    assert any(len(said) < 50 for said in drawn)


def test_a_long_text_is_continued_from_its_last_window():
    model = Fixed(logits_of(id7=1.0), max_length=8)
    start = [6] * 7
    assert len(generate(model, start, 4, generator=generator_for(0))) == 4
    assert model.lengths == [7, 8, 8, 8]
    assert start == [6] * 7


def test_generate_takes_what_the_model_says_after_the_text():
    torch.manual_seed(0)
    model = Transformer(Config(40, 16, 2, 2, 32, 12)).eval()
    with torch.no_grad():
        scores = model(torch.tensor([[9, 30, 12]]))[0, -1]
    right = max(range(EOS, 40), key=lambda i: scores[i].item())
    assert generate(model, [9, 30, 12], 1, generator=generator_for(0), temperature=0) == [right]


def test_fill_masks_reads_both_sides():
    torch.manual_seed(0)
    model = Transformer(Config(40, 16, 2, 2, 32, 12, causal=False)).eval()
    tokens = [9, MASK, 12, MASK]
    shares = model(torch.tensor([tokens])).softmax(-1)[0]
    found = fill_masks(model, tokens, top=3)
    assert len(found) == 2
    for place, best in zip((1, 3), found, strict=True):
        order = sorted(range(40), key=lambda i: -shares[place, i].item())[:3]
        assert [token for token, _ in best] == order
        assert [share for _, share in best] == pytest.approx(shares[place, order].tolist())


def test_errors():
    causal, masked = Fixed(logits_of(id7=1.0)), Fixed(logits_of(id7=1.0), causal=False)
    with pytest.raises(ValueError, match="fill_masks is for bidirectional"):
        generate(masked, [6], 1, generator=generator_for(0))
    with pytest.raises(ValueError, match="at least one token to start from"):
        generate(causal, [], 1, generator=generator_for(0))
    with pytest.raises(ValueError, match="generate is for causal"):
        fill_masks(causal, [MASK])
    with pytest.raises(ValueError, match="at least one <mask>"):
        fill_masks(masked, [len(SPECIALS)])


def little(max_length=12, vocabulary=11) -> Transformer:
    torch.manual_seed(0)
    model = Transformer(Config(vocabulary, 16, 2, 2, 32, max_length), "explicit").eval()
    for parameter in model.parameters():
        parameter.data.add_(0.3 * torch.randn_like(parameter))
    return model


def test_what_is_kept_changes_nothing_even_beyond_the_longest_text():
    model = little()

    class Forgets(torch.nn.Module):  # is no Transformer, so it reads everything again
        def __init__(self):
            super().__init__()
            self.model, self.config = model, model.config

        def forward(self, tokens):
            return self.model(tokens)

    for temperature in (0, 1.0):
        kept, again = (
            generate(m, [6, 9], 30, generator=generator_for(3), temperature=temperature, stop=())
            for m in (model, Forgets())
        )
        assert kept == again and len(kept) == 30


@pytest.mark.parametrize("top_p", [0.05, 0.4, 0.75, 1.0])
def test_top_p_is_that_of_transformers(top_p):
    from transformers.generation.logits_process import TopPLogitsWarper

    logits = torch.tensor(logits_of(id7=0.4, id8=0.3, id9=0.2, id10=0.1))
    kept = TopPLogitsWarper(top_p=top_p)(None, logits[None])[0].isfinite() if top_p < 1 else None
    model = Fixed(logits)
    drawn = generate(
        model, [6], 500, generator=generator_for(4), temperature=1.0, top_p=top_p, top_k=4
    )
    expected = {7, 8, 9, 10} if kept is None else set(kept.nonzero().flatten().tolist())
    assert set(drawn) == expected & {7, 8, 9, 10}


def test_the_penalty_on_repetitions_is_that_of_transformers():
    from transformers.generation.logits_process import RepetitionPenaltyLogitsProcessor

    torch.manual_seed(1)
    logits = torch.randn(12)
    for penalty in (1.2, 3.0):
        process = RepetitionPenaltyLogitsProcessor(penalty=penalty)
        tokens = [6]
        for _ in range(8):
            scores = process(torch.tensor([tokens]), logits[None].clone())[0]
            scores[[i for i in range(len(SPECIALS)) if i != EOS]] = -torch.inf
            tokens.append(int(scores.argmax()))
        found = generate(Fixed(logits), [6], 8, temperature=0, repetition_penalty=penalty, stop=())
        assert found == tokens[1:]


def test_other_ids_can_end_a_text_or_be_left_out():
    model = Fixed(logits_of(id1=0.6, id7=0.4))
    assert generate(model, [6], 5, temperature=0, never=()) == [1] * 5
    assert generate(model, [6], 5, temperature=0, never=(1,), stop=(7,)) == [7]


def test_enough_beams_find_the_best_of_all_continuations():
    model, start, steps = little(vocabulary=9), [6], 3
    ids = [EOS, 6, 7, 8]
    for length_penalty in (0.0, 1.0, 2.0):

        def value(more, alpha=length_penalty):
            with torch.no_grad():
                logits = model(torch.tensor([[*start, *more]]))[0]
            logits[:, [i for i in range(len(SPECIALS)) if i != EOS]] = -torch.inf
            shares = logits.log_softmax(-1)
            return sum(shares[i, new].item() for i, new in enumerate(more)) / len(more) ** alpha

        whole = [
            list(more)
            for length in range(1, steps + 1)
            for more in itertools.product(ids, repeat=length)
            if EOS not in more[:-1] and (length == steps or more[-1] == EOS)
        ]
        found = beam_search(model, start, steps, beams=100, length_penalty=length_penalty)
        assert found == max(whole, key=value)


def test_one_beam_is_the_likeliest_id_each_time():
    model = little(vocabulary=30)
    greedy = generate(model, [6, 9], 15, temperature=0)
    assert beam_search(model, [6, 9], 15, beams=1)[: len(greedy)] == greedy


@pytest.mark.parametrize("options", [{"top_p": 0}, {"repetition_penalty": 0}])
def test_numbers_that_make_no_sense_are_named(options):
    with pytest.raises(ValueError, match="positive top_p and repetition_penalty"):
        generate(little(), [6], 1, **options)
    with pytest.raises(ValueError, match="at least one beam"):
        beam_search(little(), [6], 1, beams=0)


SOURCE = [10, 7, 8]


@pytest.fixture
def translator():
    torch.manual_seed(0)
    model = EncoderDecoder(Config(11, 16, 2, 2, 32, max_length=12), "explicit").eval()
    for block in model.blocks:  # not the embedding, with which each token would repeat itself
        for parameter in block.parameters():
            parameter.data.add_(torch.randn_like(parameter))
    return model


@torch.no_grad()
def naive(model, tokens, count, source):
    """The likeliest token at each step, with everything read anew."""
    tokens, start = list(tokens), len(tokens)
    while len(tokens) < start + count:
        window = torch.tensor([tokens[-model.config.max_length :]])
        logits = model(window, source=torch.tensor([source]))[0, -1]
        logits[[i for i in range(len(SPECIALS)) if i != EOS]] = -torch.inf
        tokens.append(int(logits.argmax()))
    return tokens[start:]


def test_an_encoder_decoder_writes_what_a_naive_loop_does(translator):
    """Even beyond its longest text, and another source leads to another target."""
    sources = [SOURCE, [6], [9, 9, 10, 6, 8]]
    found = [
        generate(translator, [EOS], 16, source=each, temperature=0, stop=()) for each in sources
    ]
    assert found == [naive(translator, [EOS], 16, each) for each in sources]
    assert len(set(map(tuple, found))) > 1 and len(set(found[0])) > 1
    one_beam = beam_search(translator, [EOS], 10, source=SOURCE, beams=1, stop=())
    assert one_beam == found[0][:10]


def test_no_token_is_read_twice(translator):
    read = []
    for name, stack in (("encoder", translator.encoder), ("decoder", translator.decoder)):
        stack.blocks[0].register_forward_hook(lambda _, given, __, n=name: read.append(
            (n, given[0].shape[1])
        ))  # fmt: skip
    generate(translator, [EOS, 6], 4, source=SOURCE, temperature=0, stop=())
    assert read == [("encoder", 3), ("decoder", 2), *[("decoder", 1)] * 3]
    assert all(block.attention.cache is None for block in translator.blocks)


def test_enough_beams_find_the_best_target(translator):
    ids, steps = [EOS, 6, 7, 8, 9, 10], 3

    @torch.no_grad()
    def value(more):
        logits = translator(torch.tensor([[EOS, *more]]), source=torch.tensor([SOURCE]))[0]
        logits[:, [i for i in range(len(SPECIALS)) if i != EOS]] = -torch.inf
        shares = logits.log_softmax(-1)
        return sum(shares[i, new].item() for i, new in enumerate(more)) / len(more)

    whole = [
        list(more)
        for length in range(1, steps + 1)
        for more in itertools.product(ids, repeat=length)
        if EOS not in more[:-1] and (length == steps or more[-1] == EOS)
    ]
    found = beam_search(translator, [EOS], steps, source=SOURCE, beams=200)
    assert found == max(whole, key=value)


def test_a_source_is_needed_where_one_is_read_and_nowhere_else(translator):
    for write in (generate, beam_search):
        with pytest.raises(ValueError, match="expected the ids of a source"):
            write(translator, [EOS], 3)
        with pytest.raises(ValueError, match="expected the ids of a source"):
            write(translator, [EOS], 3, source=[])
        with pytest.raises(ValueError, match="expected no source"):
            write(little(), [6], 3, source=SOURCE)
