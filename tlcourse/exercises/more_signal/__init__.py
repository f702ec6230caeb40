"""The exercises of lessons 06 and 06b: further losses, guesses as labels, gains and intervals."""
