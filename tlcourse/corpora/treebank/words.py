"""The forms of words, with the tags and features that UD English EWT gives them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tlcourse.corpora.treebank.lexicon import BECAUSE, NEAR, NUMBERS, Lexeme

DETERMINERS = {  # number: form and features, the most common first and twice
    "sg": "the/Definite=Def|PronType=Art the/Definite=Def|PronType=Art a/Definite=Ind|PronType=Art "
    "this/Number=Sing|PronType=Dem that/Number=Sing|PronType=Dem every/PronType=Tot",
    "pl": "the/Definite=Def|PronType=Art the/Definite=Def|PronType=Art some/PronType=Ind "
    "these/Number=Plur|PronType=Dem those/Number=Plur|PronType=Dem",
}
LEMMAS_OF_DETERMINERS = {"these": "this", "those": "that"}
PRONOUNS = {  # subject, object, possessive, reflexive
    "he": ("he", "him", "his", "himself", "Gender=Masc|Number=Sing"),
    "she": ("she", "her", "her", "herself", "Gender=Fem|Number=Sing"),
    "it": ("it", "it", "its", "itself", "Gender=Neut|Number=Sing"),
    "they": ("they", "them", "their", "themselves", "Number=Plur"),
}


PLACES = ("subject", "object", "of", "self")  # the order of a pronoun's forms


@dataclass(frozen=True)
class Word:
    """A word form with its columns in CoNLL-U; `other` is the form for the other number."""

    form: str
    lemma: str
    upos: str
    xpos: str
    feats: str = "_"
    lexeme: Lexeme | None = None
    other: str | None = None


def with_s(word: str) -> str:
    """The plural of a noun, or the third person singular of a verb."""
    if word.endswith(("s", "x", "z", "ch", "sh", "o")):
        return f"{word}es"
    if word.endswith("y") and word[-2] not in "aeiou":
        return f"{word[:-1]}ies"
    return f"{word}s"


def _with_ed(word: str) -> str:
    if word.endswith("y") and word[-2] not in "aeiou":
        return f"{word[:-1]}ied"
    return word + ("d" if word.endswith("e") else "ed")


def inflected(lexeme: Lexeme, number: str = "sg", tense: str = "pres") -> Word:
    """The form of a content word; `tense` (of verbs) may also be past, bare or done."""
    lemma, group = lexeme.lemma, lexeme.group
    if group == "Noun":
        plural = lexeme.parts[1] if len(lexeme.parts) > 1 else with_s(lemma)
        form, tag = (lemma, "NN") if number == "sg" else (plural, "NNS")
        feats = f"Number={'Sing' if number == 'sg' else 'Plur'}"
        return Word(form, lemma, "NOUN", tag, feats, lexeme)
    if group == "Name":
        return Word(lemma, lemma, "PROPN", "NNP", "Number=Sing", lexeme)
    if group == "Adjective":
        return Word(lemma, lemma, "ADJ", "JJ", "Degree=Pos", lexeme)
    if group == "Adverb":
        return Word(lemma, lemma, "ADV", "RB", "_", lexeme)
    past = lexeme.parts[1] if len(lexeme.parts) > 1 else _with_ed(lemma)
    forms = {"past": past, "bare": lemma, "done": lexeme.parts[-1] if lexeme.parts[1:] else past}
    return verb(lemma, "VERB", (with_s(lemma), lemma, past, past), number, tense, forms, lexeme)


def verb(
    lemma: str,
    upos: str,
    finite: tuple[str, str, str, str],
    number: str,
    tense: str,
    others: dict[str, str] | None = None,
    lexeme: Lexeme | None = None,
) -> Word:
    """A form of a verb; `finite` is present singular and plural, past singular and plural."""
    if tense == "bare":
        return Word(others[tense], lemma, upos, "VB", "VerbForm=Inf", lexeme)
    if tense == "done":
        feats = "Tense=Past|VerbForm=Part|Voice=Pass"
        return Word(others[tense], lemma, upos, "VBN", feats, lexeme)
    singular, plural = finite[:2] if tense == "pres" else finite[2:]
    form, other = (singular, plural) if number == "sg" else (plural, singular)
    tag = "VBD" if tense == "past" else "VBZ" if number == "sg" else "VBP"
    feats = (
        f"Mood=Ind|Number={'Sing' if number == 'sg' else 'Plur'}|Person=3"
        f"|Tense={'Pres' if tense == 'pres' else 'Past'}|VerbForm=Fin"
    )
    return Word(form, lemma, upos, tag, feats, lexeme, other if other != form else None)


FIXED = {
    "The": Word("the", "the", "DET", "DT", "Definite=Def|PronType=Art"),
    "By": Word("by", "by", "ADP", "IN"),
    "That": Word("that", "that", "SCONJ", "IN"),
    "Relative": Word("that", "that", "PRON", "WDT", "PronType=Rel"),
    "And": Word("and", "and", "CCONJ", "CC"),
    "Not": Word("n't", "not", "PART", "RB", "Polarity=Neg"),
    "Comma": Word(",", ",", "PUNCT", ","),
    "Stop": Word(".", ".", "PUNCT", "."),
}


def function_word(symbol: str, number: str, tense: str, draw: Callable[[Sequence], str]) -> Word:
    """A function word in the given number and tense; `draw` chooses if there are several."""
    if symbol == "Be":
        return verb("be", "AUX", ("is", "are", "was", "were"), number, tense)
    if symbol == "Do":
        return verb("do", "AUX", ("does", "do", "did", "did"), number, tense)
    if symbol == "Near":
        form = draw(NEAR.split())
        return Word(form, form, "ADP", "IN")
    if symbol == "Because":
        form = draw(BECAUSE.split())
        return Word(form, form, "SCONJ", "IN")
    if symbol == "Number":
        form = draw(NUMBERS.split())
        return Word(form, form, "NUM", "CD", "NumForm=Word|NumType=Card")
    if symbol == "Determiner":
        form, feats = draw(DETERMINERS[number].split()).split("/")
        return Word(form, LEMMAS_OF_DETERMINERS.get(form, form), "DET", "DT", feats)
    return FIXED[symbol]


def pronoun(name: str, place: str) -> Word:
    """The form of he, she, it or they for one of PLACES."""
    *forms, gender = PRONOUNS[name]
    number = PLACES.index(place)
    feats = [f"Case={('Nom', 'Acc', 'Gen', 'Acc')[number]}", gender, "Person=3"]
    feats += {"of": ["Poss=Yes", "PronType=Prs"], "self": ["PronType=Prs", "Reflex=Yes"]}.get(
        place, ["PronType=Prs"]
    )
    lemma = name if place in ("subject", "object") else forms[number]
    return Word(forms[number], lemma, "PRON", "PRP$" if place == "of" else "PRP", "|".join(feats))
