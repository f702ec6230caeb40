"""The exercises of lesson 02."""
