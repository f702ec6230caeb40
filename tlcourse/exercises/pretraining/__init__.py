"""The exercises of lesson 03."""
