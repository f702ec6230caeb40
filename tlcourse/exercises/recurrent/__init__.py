"""Exercises of lesson 11b: sentences, and recurrent models that transfer."""
