"""Exercises of lesson 10b: the parts of XLNet, Transformer-XL and layers of experts."""
