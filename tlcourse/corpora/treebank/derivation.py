"""Derives sentences: draws rules by their weights, inserts words, resolves pronouns."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from tlcourse.corpora.treebank.grammar import DRAWN, Child, Rule, rules
from tlcourse.corpora.treebank.lexicon import LEXICON, Lexeme
from tlcourse.corpora.treebank.words import Word, function_word, inflected, pronoun

RULES = rules()
PRONOMINAL = {"Pronoun", "Possessive", "Self"}
OPENING = {"clause", "S.agree", "S.who", "S.whom"}  # clauses: the antecedent is outside


@dataclass
class Leaf:
    """A word at a place, counted from 0; `number` is set for nouns and pronouns."""

    word: Word
    place: int
    number: str | None = None
    antecedent: int | None = None


@dataclass
class Node:
    """A phrase or an unnamed part of one: its children, their relations, the place of its head."""

    name: str
    children: list["Node | Leaf"]
    relations: list[str]
    head: int


@dataclass
class Clause:
    """What constrains pronouns in a clause: its subject, and the nouns that have a pronoun."""

    subject: Leaf | None = None
    named: set[int] = field(default_factory=set)


class Derivation:
    """One sentence, derived from `start` with features; `leaves` are its words in order."""

    def __init__(self, chance: random.Random, start: str = "S.top", **features: object) -> None:
        self.chance = chance
        self.leaves: list[Leaf] = []
        self.nouns: list[tuple[Leaf, Clause]] = []
        self.clauses: list[Clause] = []
        self.used: set[Lexeme] = set()
        self.tree = self._expand(start, features)

    def _draw(self, choices: Sequence | dict):
        """One of the choices; of a dict, by weight. Only `random()` is stable across versions."""
        weighted = list(choices.items()) if isinstance(choices, dict) else [(c, 1) for c in choices]
        point = self.chance.random() * sum(weight for _, weight in weighted)
        for choice, weight in weighted:
            if point < weight:
                return choice
            point -= weight
        return weighted[-1][0]

    def _expand(self, symbol: str, features: dict) -> "Node | Leaf":
        if symbol not in RULES:
            return self._leaf(symbol, features)
        if symbol in OPENING:
            self.clauses.append(Clause())
        rule = self._rule(symbol, features)
        drawn = dict(features)
        children = [
            self._expand(child.symbol, self._features(child, features, drawn))
            for child in rule.children
        ]
        if symbol in OPENING:
            self.clauses.pop()
        relations = [child.relation for child in rule.children]
        head = children[relations.index("*")]
        place = head.head if isinstance(head, Node) else head.place
        return Node(symbol.split(".")[0], children, relations, place)

    def _rule(self, symbol: str, features: dict) -> Rule:
        """A rule whose guards hold, drawn by weight; features that guards need are drawn first."""
        holding = {
            number: rule.weight
            for number, rule in enumerate(RULES[symbol])
            # A list: every guard draws its features, whether another one fails or not.
            if all([self._holds(guard, features) for guard in rule.guards])  # noqa: C419
            and (
                rule.children[0].symbol not in PRONOMINAL
                or self._antecedents(
                    rule.children[0].symbol, self._features(rule.children[0], features, {})
                )
            )
        }
        return RULES[symbol][self._draw(holding)]

    def _holds(self, guard: str, features: dict) -> bool:
        name, _, value = guard.partition("=")
        if guard.startswith("!") or guard == "m":
            return ("m" in features) == (guard == "m")
        if ">" in guard:
            name, least = guard.split(">")
            return self._value(name, features) > int(least)
        if name == "f":
            return features.get("f") == value
        return str(self._value(name, features)) == value

    def _value(self, name: str, features: dict):
        if name not in features:
            features[name] = self._draw(DRAWN[name])
        return features[name]

    def _features(self, child: Child, own: dict, drawn: dict) -> dict:
        """A child's features; those that its parent lacks are drawn into `drawn`."""
        values = {}
        for name, value in child.features:
            if name.endswith("?"):
                values |= {key: own[key] for key in (name[:-1],) if key in own}
            elif value == "k-1":
                values[name] = own["k"] - 1
            elif value in DRAWN:
                drawn |= {key: own[key] for key in (value,) if key in own}
                values[name] = self._value(value, drawn)
            elif value == "f":
                values[name] = own["f"]
            else:
                values[name] = int(value) if value.isdecimal() else value
        return values

    def _leaf(self, symbol: str, features: dict) -> Leaf:
        number, tense = features.get("n", "sg"), features.get("t", "pres")
        if symbol in PRONOMINAL:
            leaf = self._pronoun(symbol, features)
        elif symbol in LEXICON:
            word = inflected(self._lexeme(symbol, features.get("a")), number, tense)
            leaf = Leaf(word, len(self.leaves), number if symbol in ("Noun", "Name") else None)
        else:
            leaf = Leaf(function_word(symbol, number, tense, self._draw), len(self.leaves))
        self.leaves.append(leaf)
        if symbol in ("Noun", "Name"):
            clause = self.clauses[-1]
            clause.subject = clause.subject or leaf
            self.nouns.append((leaf, clause))
        return leaf

    def _lexeme(self, group: str, kind: str | None) -> Lexeme:
        """A word of a class that the sentence does not have yet."""
        kind = "thing" if (group, kind) == ("Adjective", "place") else kind
        fitting = [word for word in LEXICON[group] if not kind or word.kind in ("", kind)]
        lexeme = self._draw([word for word in fitting if word not in self.used])
        self.used.add(lexeme)
        return lexeme

    def _antecedents(self, symbol: str, features: dict) -> list[Leaf]:
        """The nouns that a pronoun may refer to: its form fits no other noun before it.

        They are outside the pronoun's own clause, but a reflexive's is the subject of its clause.
        """
        own = self.clauses[-1]
        candidates = []
        for noun, clause in self.nouns:
            name, kind = pronoun_for(noun), noun.word.lexeme.kind
            near = noun is own.subject if symbol == "Self" else clause is not own
            fits = features.get("n", noun.number) == noun.number
            fits &= features.get("a", kind) == kind
            if name is None or not fits or not (near or symbol == "Possessive"):
                continue
            if (symbol == "Pronoun" and noun.place in own.named) or (
                symbol == "Possessive" and kind != "being"
            ):
                continue
            if sum(may_refer(name, other) for other, _ in self.nouns) == 1:
                candidates.append(noun)
        return candidates

    def _pronoun(self, symbol: str, features: dict) -> Leaf:
        noun = self._draw(self._antecedents(symbol, features))
        self.clauses[-1].named.add(noun.place)
        word = pronoun(pronoun_for(noun), features["f"])
        return Leaf(word, len(self.leaves), noun.number, noun.place)


def pronoun_for(noun: Leaf) -> str | None:
    """The pronoun for a noun; None where it is ambiguous ("the doctor" is he or she)."""
    if noun.number == "pl":
        return "they"
    return {"m": "he", "f": "she", "n": "it"}.get(noun.word.lexeme.gender)


def may_refer(pronoun: str, noun: Leaf) -> bool:
    """True if a pronoun can refer to a noun, by gender and number."""
    if pronoun == "they" or noun.number == "pl":
        return pronoun == "they" and noun.number == "pl"
    fitting = {"m": ("he",), "f": ("she",), "c": ("he", "she"), "x": ("he", "she", "it")}
    return pronoun in fitting.get(noun.word.lexeme.gender, ("it",))
