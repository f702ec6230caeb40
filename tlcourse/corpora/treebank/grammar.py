"""The grammar: weighted rules with heads, relations and features, in a readable notation.

A rule is `weight parent -> children`. `*` marks the head; every other child is followed by its
relation to the head. A name in lower case does not make a phrase; a suffix after a point, as in
VP.bare, is not part of a phrase's name. Features in brackets:

    NP(n a)       the parent's number and kind; what the parent lacks is drawn, once for a rule
    NP(m?)        the parent's m, if it has one
    NP(n=m)       the number is the parent's m, or drawn
    NP(k=k-1)     one less than the parent's
    on the left   a rule holds only for these values; (k>0), (m) "has one", (!m) "has none"

n number · t tense · a kind (being, thing, place) · f form of a pronoun · k number of nouns in the
modifiers that follow · m the grammatical number of all of these, if it is fixed.
"""

import re
from collections import defaultdict
from dataclasses import dataclass

RULES = """
# Sentences and clauses
 8 S.top  -> clause:* Stop:punct
 6 S.top  -> S:* and:conj Stop:punct
 4 S.top  -> clause:* SBAR.because:advcl Stop:punct
 3 S.top  -> SBAR.because:advcl Comma:punct clause:* Stop:punct
 1 and       -> And:cc S:*
 1 SBAR.because -> Because:mark S:*
 1 SBAR.that -> That:mark S:*
 1 S         -> clause:*
 6 clause -> NP(n a=being f=subject):nsubj VP(n t a=being):*
 3 clause -> NP(n a=thing f=subject):nsubj VP(n t a=thing):*
 1 clause -> NP(n a=place f=subject):nsubj VP(n t a=place):*
 1 clause -> NP(n a=being f=subject):nsubj:pass VP.passive(n t a=being):*
 2 clause -> NP(n a=thing f=subject):nsubj:pass VP.passive(n t a=thing):*

# Sentences whose subject is followed by k nouns with the number m
 6 S.agree -> NP(n a=being k m):nsubj VP(n t a=being m):* Stop:punct
 3 S.agree -> NP(n a=thing k m):nsubj VP(n t a=thing m):* Stop:punct
 1 S.agree -> NP(n a=being k m):nsubj:pass VP.passive(n t a=being):* Stop:punct
 1 S.agree -> NP(n a=thing k m):nsubj:pass VP.passive(n t a=thing):* Stop:punct

# Verb phrases
 7 VP(a=being) -> core(n t a):*
 1 VP(a=being) -> ADVP:advmod core(n t a):*
 1 VP(a=being) -> core(n t a):* ADVP:advmod
 4 VP(a=thing) -> core(n t a):*
 2 VP          -> Be(n t):cop ADJP(a):*
 1 VP(a=being !m) -> Do(n t):aux Not:advmod VP.bare(a):*
 1 VP(a=thing !m) -> Do(n t):aux Not:advmod VP.bare(a):*
 1 VP.bare     -> core(a t=bare):*
 4 core(a=being) -> Laugh(n t):*
 3 core(a=being) -> Laugh(n t):* PP.where:obl
 6 core(a=being) -> Admire(n t):* NP(a=being f=object):obj
 6 core(a=being) -> Carry(n t):* NP(a=thing f=object):obj
 2 core(a=being) -> Visit(n t):* NP(a=place f=object):obj
 2 core(a=being) -> Say(n t):* SBAR.that:ccomp
 3 core(a=thing) -> Fall(n t):*
 2 core(a=thing) -> Fall(n t):* PP.where:obl
 1 VP.passive  -> Be(n t):aux:pass VP.done(a):*
 1 VP.done(a=being) -> Admire(t=done):*
 2 VP.done(a=being) -> Admire(t=done):* PP.by:obl:agent
 1 VP.done(a=thing) -> Carry(t=done):*
 2 VP.done(a=thing) -> Carry(t=done):* PP.by:obl:agent
 1 ADVP -> Adverb:*
 1 ADJP -> Adjective(a):*
 1 PP.by    -> By:case NP(a=being):*
 1 PP.where -> Near:case NP(a=place):*

# Noun phrases: pronouns, names, nouns, and nouns with k nouns in their modifiers
16 NP(k=0) -> noun(n a m?):*
 3 NP(k=0 n=sg a=being !m) -> Name:*
30 NP(k=0 f=subject) -> Pronoun(n a f):*
20 NP(k=0 f=object)  -> Pronoun(a f):*
 5 NP(k=0 f=object a=being) -> Self(a f=self):*
 3 NP(k>0) -> NP.head(n a m?):* PP(k m?):nmod
 2 NP(k>0 a=being) -> NP.head(n a m?):* SBAR.who(n k m?):acl:relcl
 2 NP(k>0 a=being) -> NP.head(n a m?):* SBAR.whom(a k m?):acl:relcl
 2 NP(k>0 a=thing) -> NP.head(n a m?):* SBAR.whom(a k m?):acl:relcl
 2 NP(k>1 a=being) -> NP.head(n a m?):* PP(k=1 m?):nmod SBAR.who(n k=k-1 m?):acl:relcl
 1 NP.head -> noun(n a m?):*
 1 noun(m)  -> The:det Noun(n a):*
 8 noun(!m) -> Determiner(n):det Noun(n a):*
 4 noun(!m) -> Determiner(n):det Adjective(a):amod Noun(n a):*
 2 noun(!m n=pl) -> Number:nummod Noun(n a):*
 3 noun(!m) -> Possessive(f=of):nmod:poss Noun(n a):*
 1 PP -> Near:case NP(n=m a k=k-1 m?):*

# Relative clauses: "that admires the boys", "that the boys admire", "the boys admire"
 1 SBAR.who  -> WHNP:nsubj S.who(n k m?):*
 1 S.who     -> VP.who(n t k m?):*
 3 VP.who    -> Admire(n t):* NP(n=m a=being k=k-1 m?):obj
 2 VP.who    -> Carry(n t):* NP(n=m a=thing k=k-1 m?):obj
 2 SBAR.whom -> WHNP:obj S.whom(a k m?):*
 1 SBAR.whom -> S.whom(a k m?):*
 1 S.whom    -> NP(n=m a=being k=k-1 m?):nsubj VP.whom(n=m t a):*
 1 VP.whom(a=being) -> Admire(n t):*
 1 VP.whom(a=thing) -> Carry(n t):*
 1 WHNP -> Relative:*
"""

# The values of features, with weights; drawn if a rule needs a feature that the parent lacks.
DRAWN = {
    "n": {"sg": 11, "pl": 9},
    "t": {"pres": 3, "past": 2},
    "a": {"being": 4, "thing": 3, "place": 3},
    "k": {0: 15, 1: 4, 2: 1},
}
DRAWN["m"] = DRAWN["n"]


@dataclass(frozen=True)
class Child:
    """A child in a rule: its symbol, the source of its features, its relation ("*": head)."""

    symbol: str
    features: tuple[tuple[str, str], ...]
    relation: str


@dataclass(frozen=True)
class Rule:
    """A rule: its weight, its conditions on the parent's features, its children."""

    weight: int
    guards: tuple[str, ...]
    children: tuple[Child, ...]


SYMBOL = re.compile(r"([A-Za-z.]+)(?:\(([^)]*)\))?(?::(\S+))?")


def _child(symbol: str, features: str, relation: str) -> Child:
    pairs = (feature.partition("=") for feature in features.split())
    return Child(symbol, tuple((name, value or name) for name, _, value in pairs), relation)


def rules(text: str = RULES) -> dict[str, list[Rule]]:
    """The rules of every symbol, in the order of the text."""
    by_symbol = defaultdict(list)
    for line in text.splitlines():
        if line and not line.startswith("#"):
            left, right = line.split(" -> ")
            weight, parent = left.split(maxsplit=1)
            symbol, guards, _ = SYMBOL.match(parent).groups()
            children = tuple(_child(s, f or "", r) for s, f, r in SYMBOL.findall(right))
            by_symbol[symbol].append(Rule(int(weight), tuple((guards or "").split()), children))
    return dict(by_symbol)
