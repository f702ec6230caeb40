"""The exercise of lesson 00, on which a learner sees how exercises work."""
