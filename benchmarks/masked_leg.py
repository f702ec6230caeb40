"""From which objective does a second leg of causal-small become the best two-sided model?

Masked as in BERT at two rates, masked next-token prediction, and the hybrid of it with the causal
objective, all for the same tokens from the same start, judged by fine-tuning on TREC's dev split.
"""

from benchmarks import studies
from tlcourse.pretraining import PretrainingRecipe

TOKENS = 2_500_000
START = "causal-small"
RECIPES = {
    "masked, 15 %": PretrainingRecipe("masked"),
    "masked, 30 %": PretrainingRecipe("masked", mask_probability=0.3),
    "masked next token, 15 %": PretrainingRecipe("hybrid", causal_share=0.0),
    "hybrid, 30 %": PretrainingRecipe("hybrid", mask_probability=0.3),
}
LABELS, SEEDS = (100, "all"), (0, 1, 2)


def measure() -> dict:
    """One row a checkpoint, way of reading and number of labels."""
    runs = [studies.Run(name, recipe, (TOKENS,), START) for name, recipe in RECIPES.items()]
    rivals, losses = [START], {}
    for run in runs:
        losses[run.name] = studies.tail_loss(run.run()["history"])
        checkpoint = run.checkpoint()
        both = run.recipe.objective == "hybrid"
        rivals.append(studies.other_way(checkpoint, causal=False) if both else checkpoint)
        if both and run.recipe.causal_share:
            rivals.append(checkpoint)
    return {
        "job": "masked_leg",
        **studies.provenance(runs),
        "tokens": TOKENS,
        "last_losses": losses,
        "rows": studies.judge(rivals, LABELS, SEEDS),
    }
