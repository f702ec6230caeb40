"""Exercises of lesson 09b: text that answers."""
