"""The exercises of lessons 04 and 04b."""
