"""Exercises of lesson 10: what a model should learn from plain text."""
