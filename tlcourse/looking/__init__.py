"""Looking inside a model: what its heads look at, and whether it matters.

    import torch
    from tlcourse import checkpoints, looking
    from tlcourse.transformer import Config, Transformer, record

    model = Transformer(Config(vocabulary_size=300, width=32, layers=2, heads=4, feed_forward=128))
    texts = [[8, 9, 10, 8, 9], [20, 21, 22]]                # ids of a corpus, never of one text
    looking.head_scores(model, texts)["previous token"]     # (2, 4): layers, heads
    looking.induction_score(model)                          # (2, 4), on random tokens said twice
    with record(model) as seen:
        model(torch.tensor(texts[:1]))
    looking.rollout(torch.stack(seen.attention)[:, 0])      # (5, 5)

    with looking.ablating(model, [(0, 3), (1, 0)], means=looking.head_means(model, texts)):
        model(torch.tensor(texts[:1]))                      # two heads say what they always say
    with looking.skipping(model, [1], part="feed-forward"):
        model(torch.tensor(texts[:1]))
    state = model.hidden_states(torch.tensor(texts[:1]))[1][0, 4:]
    with looking.patching(model, state, 1, places=[2]):     # from one text into another
        model(torch.tensor(texts[1:]))
    with looking.permuting(model):                          # attention to the wrong tokens
        model(torch.tensor(texts[:1]))

    looking.logit_lens(model, texts[0])                     # (3, 5, 300): layers, places, ids

    found = looking.attribution(model, texts[0], 8)         # who put token 8 there, at the end
    found.heads, found.parts()["feed-forward 1"]            # (2, 4), and by name; sum: found.logit

    def nats(text):
        return torch.nn.functional.cross_entropy(model(torch.tensor([text[:-1]]))[0],
                                                 torch.tensor(text[1:]))

    def harm(removed):                                      # the lower, the better
        with torch.no_grad(), looking.ablating(model, removed):
            return float(sum(map(nats, texts)))

    heads = [(layer, head) for layer in range(2) for head in range(4)]
    looking.head_importance(model, nats, texts)             # (2, 4)
    found = looking.greedy_pruning(harm, heads, steps=2)    # its order, its curve
    smaller = looking.prune(model, found.order)

    looking.birth(steps=2, every=1).scores                  # (3, 2, 2): looks, layers, heads

    shipped = checkpoints.load("causal-small")              # a model and its tokenizer
    looking.explore(*shipped, "The dog that chased the cats barks.")    # live, in a notebook

Heads are (layer, head), both counted from 0; of hidden states, layer 0 is the embeddings.
"""

from tlcourse.looking.ablation import PARTS, ablating, head_means, skipping
from tlcourse.looking.exploring import explore
from tlcourse.looking.induction import (
    NEWBORN,
    Birth,
    birth,
    induction_of,
    induction_score,
    said_twice,
)
from tlcourse.looking.lens import Guesses, lens_guesses, logit_lens
from tlcourse.looking.logit_parts import Attribution, attribution
from tlcourse.looking.pruning import Pruning, greedy_pruning, head_importance, prune
from tlcourse.looking.putting import patching, permuting
from tlcourse.looking.scores import head_scores, rollout, score_intervals, scores_by_text

__all__ = [
    "NEWBORN",
    "PARTS",
    "Attribution",
    "Birth",
    "Guesses",
    "Pruning",
    "ablating",
    "attribution",
    "birth",
    "explore",
    "greedy_pruning",
    "head_importance",
    "head_means",
    "head_scores",
    "induction_of",
    "induction_score",
    "lens_guesses",
    "logit_lens",
    "patching",
    "permuting",
    "prune",
    "rollout",
    "said_twice",
    "score_intervals",
    "scores_by_text",
    "skipping",
]
