"""The exercises of lesson 04."""
