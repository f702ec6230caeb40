"""Transfer learning in NLP: the package that the lessons build."""

__version__ = "0.1.0"
