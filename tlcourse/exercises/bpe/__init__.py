"""The exercises of lesson 01."""
