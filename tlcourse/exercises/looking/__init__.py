"""The exercises of lesson 08: attention by hand, head scores, the logit lens, pruning heads."""
