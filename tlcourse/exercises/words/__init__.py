"""Exercises of lesson 11: vectors for words, from counts to contexts."""
