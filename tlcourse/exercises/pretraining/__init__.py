"""The exercises of lessons 03 and 03b."""
