"""The exercises of lesson 06: a language-model loss to mend, guesses to believe, soft targets."""
