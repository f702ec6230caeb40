"""From a derivation to a sentence in CoNLL-U, and from such a sentence to its annotation.

The comment `tree` is the bracketed tree of phrases. The keys of MISC:

    Role=Agent:5,Patient:3           the word is the agent of word 5 and the patient of word 3
    Antecedent=2                     the pronoun refers to word 2
    Subject=2 | Attractors=1         the finite verb agrees with word 2; the number of nouns
                                     between the two that have the other number
    OtherForm=laugh                  the verb's form for the other number, if it differs

Words are counted from 1, as heads are.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from itertools import count
from typing import NamedTuple

from tlcourse.corpora.conllu import Multiword, Sentence, key_of
from tlcourse.corpora.treebank.derivation import Derivation, Leaf, Node

CLAUSES = ("S", "SBAR")


class Role(NamedTuple):
    """Word `word` is the `role` (agent or patient) of the verb `verb`."""

    word: int
    verb: int
    role: str


class Agreement(NamedTuple):
    """The finite verb `verb` agrees with `subject` across so many `attractors`."""

    verb: int
    subject: int
    attractors: int
    other_form: str | None


def roles(sentence: Sentence) -> list[Role]:
    """Agents and patients of the verbs; a passive's subject is a patient. Adjectives have none."""
    result = []
    for word, misc in enumerate(sentence.misc, start=1):
        for pair in filter(None, (key_of(misc, "Role") or "").split(",")):
            role, _, verb = pair.partition(":")
            result.append(Role(word, int(verb), role.lower()))
    return result


def antecedents(sentence: Sentence) -> dict[int, int]:
    """For each pronoun with an antecedent, that noun; both are word numbers."""
    nouns = {word: key_of(misc, "Antecedent") for word, misc in enumerate(sentence.misc, start=1)}
    return {word: int(noun) for word, noun in nouns.items() if noun}


def agreements(sentence: Sentence) -> list[Agreement]:
    """The finite verbs and auxiliaries, each with its subject."""
    return [
        Agreement(
            word,
            int(key_of(misc, "Subject")),
            int(key_of(misc, "Attractors")),
            key_of(misc, "OtherForm"),
        )
        for word, misc in enumerate(sentence.misc, start=1)
        if key_of(misc, "Subject")
    ]


def tree_of(sentence: Sentence) -> str:
    """The bracketed tree, such as "(S (NP (DT the) (NN king)) (VP (VBZ laughs)) (. .))"."""
    return next(c.partition(" = ")[2] for c in sentence.comments if c.startswith("tree = "))


def phrases(sentence: Sentence) -> list[tuple[str, str]]:
    """For each word, the names of its phrase and of the phrase around that ("" if none).

    Names are S, SBAR, NP, VP, PP, ADJP, ADVP and WHNP.
    """
    names = [["", *(name for name, _ in around)] for around in _around(sentence)]
    return [(path[-1], path[-2]) for path in names]


def chunks(sentence: Sentence) -> list[str]:
    """For each word "B-NP" where a chunk begins, "I-NP" inside it, "O" outside all chunks.

    A chunk is a run of words that are in the same phrase and in no smaller one (after Tjong Kim
    Sang & Buchholz, 2000). Words directly in a clause, such as its full stop, are outside.
    """
    tags, before = [], None
    for *_, phrase in _around(sentence):
        name = phrase[0]
        tags.append("O" if name in CLAUSES else f"{'I' if phrase == before else 'B'}-{name}")
        before = phrase
    return tags


def _around(sentence: Sentence) -> list[list[tuple[str, int]]]:
    """For each word its phrases from the sentence down, each as (name, number)."""
    above, paths, numbers = [], [], count()
    for opened, name, closed in re.findall(
        r"\((\S+) (?!\()|\((\S+) (?=\()|(\))", tree_of(sentence)
    ):
        if opened:
            paths.append([*above])
        if closed:
            above.pop()
        else:
            above.append((opened or name, next(numbers)))
    return paths


def with_leaves(tree: str, forms: Iterable[str], tags: Iterable[str]) -> str:
    """A bracketed tree with its words and fine tags replaced."""
    leaves = zip(tags, forms, strict=True)
    return re.sub(r"\([^ ()]+ [^ ()]+\)", lambda _: "({} {})".format(*next(leaves)), tree)


def bracketed(node: Node | Leaf, forms: list[str]) -> str:
    """A node of a derivation as a bracketed tree."""
    if isinstance(node, Leaf):
        return f"({node.word.xpos} {forms[node.place]})"
    inner = " ".join(bracketed(child, forms) for child in node.children)
    return inner if node.name.islower() else f"({node.name} {inner})"


def written(derivation: Derivation, name: str) -> Sentence:
    """The sentence of a derivation, with the id `name`."""
    words = [leaf.word for leaf in derivation.leaves]
    forms = spelled([word.form for word in words])
    heads, relations = [0] * len(words), ["root"] * len(words)
    _attach(derivation.tree, heads, relations)
    misc: list[list[str]] = [[] for _ in words]
    for leaf in derivation.leaves:
        if leaf.antecedent is not None:
            misc[leaf.place].append(f"Antecedent={leaf.antecedent + 1}")
    for word, pairs in _roles(derivation, heads, relations).items():
        misc[word - 1].append("Role=" + ",".join(f"{role}:{verb}" for verb, role in pairs))
    for place, keys in _agreements(derivation, heads, relations).items():
        misc[place - 1] += keys
    return laid_out(
        forms,
        [word.lemma for word in words],
        [word.upos for word in words],
        [word.xpos for word in words],
        [word.feats for word in words],
        heads,
        relations,
        misc,
        [f"sent_id = {name}", f"tree = {bracketed(derivation.tree, forms)}"],
    )


def spelled(forms: list[str]) -> list[str]:
    """The forms with "an" before a vowel, and the first one capitalised."""
    result = [
        "an" if form == "a" and after[0] in "aeiou" else form
        for form, after in zip(forms, [*forms[1:], "."], strict=True)
    ]
    return [result[0][0].upper() + result[0][1:], *result[1:]]


def laid_out(forms: list[str], *columns: list) -> Sentence:
    """A sentence from columns and comments; adds spacing, multi-word tokens and the text."""
    *columns, misc, comments = columns
    for word, form in enumerate(forms[1:]):
        if form in (".", ","):
            misc[word] = [*misc[word], "SpaceAfter=No"]
    tokens = tuple(
        Multiword(word, word + 1, forms[word - 1] + form)
        for word, form in enumerate(forms)
        if form == "n't"
    )
    cells = ["|".join(sorted(keys)) or "_" for keys in misc]
    parts = (forms, *columns, cells)
    sentence = Sentence(*map(tuple, parts), multiwords=tokens)
    comments = (comments[0], f"text = {sentence.text}", *comments[1:])
    return replace(sentence, comments=comments)


def _attach(node: Node | Leaf, heads: list[int], relations: list[str]) -> None:
    """Fills in the heads (word numbers) and relations of all words below a node."""
    if isinstance(node, Leaf):
        return
    for child, relation in zip(node.children, node.relations, strict=True):
        _attach(child, heads, relations)
        if relation != "*":
            place = child.head if isinstance(child, Node) else child.place
            heads[place], relations[place] = node.head + 1, relation


def _children(heads: list[int], relations: list[str]) -> dict[int, dict[str, int]]:
    """For every word, its children by relation."""
    children: dict[int, dict[str, int]] = defaultdict(dict)
    for word, (head, relation) in enumerate(zip(heads, relations, strict=True), start=1):
        children[head][relation] = word
    return children


def _roles(
    derivation: Derivation, heads: list[int], relations: list[str]
) -> dict[int, list[tuple[int, str]]]:
    """For each word with roles, its (verb, role) pairs; "that" passes its role to its noun."""
    roles_of, children = defaultdict(list), _children(heads, relations)
    for leaf in derivation.leaves:
        verb, below = leaf.place + 1, children[leaf.place + 1]
        if leaf.word.upos != "VERB":
            continue
        noun = heads[leaf.place] if relations[leaf.place] == "acl:relcl" else None
        mover = "Patient" if leaf.word.lexeme.group == "Fall" else "Agent"
        parts = {"nsubj": mover, "obj": "Patient", "nsubj:pass": "Patient", "obl:agent": "Agent"}
        arguments = {below[relation]: role for relation, role in parts.items() if relation in below}
        if noun and "obj" not in below:
            arguments[noun] = "Patient"
        for word, role in arguments.items():
            relative = derivation.leaves[word - 1].word.feats == "PronType=Rel"
            roles_of[noun if relative else word].append((verb, role))
    return {word: sorted(pairs) for word, pairs in sorted(roles_of.items())}


def _agreements(
    derivation: Derivation, heads: list[int], relations: list[str]
) -> dict[int, list[str]]:
    """The MISC entries of finite verbs, by place: subject, attractors, other form."""
    entries, children = {}, _children(heads, relations)
    leaves = derivation.leaves
    for leaf in leaves:
        if "VerbForm=Fin" not in leaf.word.feats:
            continue
        head = leaf.place + 1 if leaf.word.upos == "VERB" else heads[leaf.place]
        below = children[head]
        subject = below["nsubj"] if "nsubj" in below else below["nsubj:pass"]
        if leaves[subject - 1].number is None:  # "that"
            subject = heads[head - 1]
        between = [word.number for word in leaves[subject : leaf.place] if word.word.lexeme]
        others = {"sg": "pl", "pl": "sg"}[leaves[subject - 1].number]
        entries[leaf.place + 1] = [f"Subject={subject}", f"Attractors={between.count(others)}"]
        if leaf.word.other:
            entries[leaf.place + 1].append(f"OtherForm={leaf.word.other}")
    return entries
