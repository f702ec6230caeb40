"""Exercises of lesson 09b: models that write their answers."""
