"""Exercises of lesson 09: what changes around a body for another task."""
