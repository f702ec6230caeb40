"""The exercises of lesson 05."""
