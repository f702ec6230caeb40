"""Nonsense sentences ("colorless green ideas"), as in Gulordava et al. (2018)."""

import random

from tlcourse.corpora.conllu import Sentence, key_of
from tlcourse.corpora.treebank.lexicon import BY_LEMMA, LEXICON, Lexeme
from tlcourse.corpora.treebank.sentences import laid_out, spelled, tree_of, with_leaves
from tlcourse.corpora.treebank.words import Word, inflected

TENSES = {"VBZ": "pres", "VBP": "pres", "VBD": "past", "VB": "bare", "VBN": "done"}
KEPT = ("Role", "Subject", "Attractors")  # keys of MISC


def without_sense(sentence: Sentence, *, seed: int = 0) -> Sentence:
    """The sentence with every content word replaced by another of its category and form.

    Beings become things or places and these become beings, so that doors sneeze; a verb is replaced
    by one with the same arguments, a name by a name. Tags, features, heads, relations, roles and
    agreement are kept, antecedents of pronouns are not. The same seed gives the same version.
    Raises ValueError for a sentence with a word that is not in the lexicon.
    """
    chance, used = random.Random(f"{seed} {sentence.text}"), set(sentence.lemmas)
    words = []
    for place, (form, lemma) in enumerate(zip(sentence.forms, sentence.lemmas, strict=True)):
        if sentence.upos[place] in ("NOUN", "PROPN", "VERB", "ADJ", "ADV"):
            words.append(_another(sentence, place, used, chance))
            used.add(words[-1].lemma)
        else:
            other = key_of(sentence.misc[place], "OtherForm")
            words.append(Word("a" if lemma == "a" else form.lower(), lemma, "", "", other=other))
    misc = [
        [pair for pair in cell.split("|") if pair.partition("=")[0] in KEPT]
        + [f"OtherForm={word.other}"] * (word.other is not None)
        for cell, word in zip(sentence.misc, words, strict=True)
    ]
    forms = spelled([word.form for word in words])
    columns = (sentence.upos, sentence.xpos, sentence.feats, sentence.heads, sentence.deprels)
    tree = with_leaves(tree_of(sentence), forms, sentence.xpos)
    comments = [sentence.comments[0], f"tree = {tree}"]
    return laid_out(forms, [word.lemma for word in words], *columns, misc, comments)


def _another(sentence: Sentence, place: int, used: set[str], chance: random.Random) -> Word:
    """A word that replaces the content word at `place`, in the same form; none of `used`."""
    lemma, tag = sentence.lemmas[place], sentence.xpos[place]
    own = BY_LEMMA.get((sentence.upos[place], lemma))
    if own is None:
        raise ValueError(f"expected a sentence of the treebank's own words, got one with {lemma!r}")
    fitting = [word for word in LEXICON[own.group] if _fits(own, word) and word.lemma not in used]
    chosen = fitting[int(chance.random() * len(fitting))]
    plural = tag == "NNS" or key_of(sentence.feats[place], "Number") == "Plur"
    return inflected(chosen, "pl" if plural else "sg", TENSES.get(tag, "pres"))


def _fits(own: Lexeme, other: Lexeme) -> bool:
    """True if a word of the same class may replace `own`."""
    if own.group == "Noun":
        return (own.kind == "being") != (other.kind == "being")
    return own.kind == other.kind
