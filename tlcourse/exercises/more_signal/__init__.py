"""The exercises of lessons 06 and 06b: losses beside the labels, guesses, two predictions."""
