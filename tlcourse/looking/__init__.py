"""Looking inside a model: what its heads look at, and whether it matters.

from tlcourse import checkpoints, looking

model, tokenizer = checkpoints.load("causal-small")
looking.explore(model, tokenizer, "The dog that chased the cats barks.")
"""

from tlcourse.looking.explore import explore

__all__ = ["explore"]
