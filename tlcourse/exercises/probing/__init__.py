"""The exercises of lesson 07: a probe, what it takes to believe it, a direction taken out."""
