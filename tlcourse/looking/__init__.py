"""Looking inside a model: what its heads attend to, and whether the model needs them.

    import torch
    from tlcourse import checkpoints, looking
    from tlcourse.transformer import Config, Transformer, record

    model = Transformer(Config(vocabulary_size=300, width=32, layers=2, heads=4, feed_forward=128))
    texts = [[8, 9, 10, 8, 9], [20, 21, 22]]                # ids of a corpus, not of a single text
    looking.head_scores(model, texts)["previous token"]     # (2, 4): layers, heads
    looking.induction_score(model)                          # (2, 4), on repeated random tokens
    with record(model) as seen:
        model(torch.tensor(texts[:1]))
    looking.rollout(torch.stack(seen.attention)[:, 0])      # (5, 5)

    with looking.ablating(model, [(0, 3), (1, 0)], means=looking.head_means(model, texts)):
        model(torch.tensor(texts[:1]))                      # two heads give their mean output
    with looking.skipping(model, [1], part="feed-forward"):
        model(torch.tensor(texts[:1]))
    state = model.hidden_states(torch.tensor(texts[:1]))[1][0, 4:]
    with looking.patching(model, state, 1, places=[2]):     # from one text into another
        model(torch.tensor(texts[1:]))
    with looking.permuting(model):                          # weights on the wrong tokens
        model(torch.tensor(texts[:1]))

    looking.logit_lens(model, texts[0])                     # (3, 5, 300): layers, positions, ids

    parts = looking.attribution(model, texts[0], 8)         # the parts of the last logit of token 8
    parts.heads, parts.parts()["feed-forward 1"]            # (2, 4), and by name; parts.logit: sum

    def nats(text):
        return torch.nn.functional.cross_entropy(model(torch.tensor([text[:-1]]))[0],
                                                 torch.tensor(text[1:]))

    def harm(removed):                                      # lower is better
        with torch.no_grad(), looking.ablating(model, removed):
            return float(sum(map(nats, texts)))

    heads = [(layer, head) for layer in range(2) for head in range(4)]
    looking.head_importance(model, nats, texts)             # (2, 4)
    pruning = looking.greedy_pruning(harm, heads, steps=2)  # with an order and a curve
    smaller = looking.prune(model, pruning.order)

    looking.birth(steps=2, every=1).scores                  # (3, 2, 2): steps, layers, heads

    shipped = checkpoints.load("causal-small")              # a model and its tokenizer
    looking.explore(*shipped, "The dog that chased the cats barks.")    # interactive in a notebook

A head is (layer, head), both counted from 0. Hidden states of layer 0 are the embeddings.
"""

from tlcourse.looking.ablation import PARTS, ablating, head_means, skipping
from tlcourse.looking.exploring import explore
from tlcourse.looking.induction import (
    NEWBORN,
    Birth,
    birth,
    induction_of,
    induction_score,
    repeated_tokens,
)
from tlcourse.looking.interventions import patching, permuting
from tlcourse.looking.lens import Guesses, lens_guesses, logit_lens
from tlcourse.looking.logit_parts import Attribution, attribution
from tlcourse.looking.pruning import Pruning, greedy_pruning, head_importance, prune
from tlcourse.looking.scores import head_scores, rollout, scores_by_text

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
    "repeated_tokens",
    "rollout",
    "scores_by_text",
    "skipping",
]
