"""The exercises of lessons 02 and 02b."""
