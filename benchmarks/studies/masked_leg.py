"""From which objective does a second leg of causal-small become the best two-sided model?

Masked as in BERT at two rates, masked next-token prediction, and the hybrid of it with the causal
objective, all for the same tokens from the same start, judged by fine-tuning on TREC's dev split.
"""

from benchmarks.studies import pretraining_runs
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
    runs = [
        pretraining_runs.Run(name, recipe, (TOKENS,), START) for name, recipe in RECIPES.items()
    ]
    rivals, losses = [START], {}
    for run in runs:
        losses[run.name] = pretraining_runs.tail_loss(run.run()["history"])
        checkpoint = run.checkpoint()
        both = run.recipe.objective == "hybrid"
        rivals.append(pretraining_runs.other_way(checkpoint, causal=False) if both else checkpoint)
        if both and run.recipe.causal_share:
            rivals.append(checkpoint)
    return {
        "job": "masked_leg",
        **pretraining_runs.provenance(runs),
        "tokens": TOKENS,
        "last_losses": losses,
        "rows": pretraining_runs.judge(rivals, LABELS, SEEDS),
    }
