"""What the grammar says of its sentences, against what their words, tags and heads say."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tlcourse import corpora, files
from tlcourse.corpora import conllu, treebank
from tlcourse.corpora.conllu import Sentence, key_of
from tlcourse.corpora.treebank import grammar, lexicon
from tlcourse.corpora.treebank.words import inflected
from tlcourse.corpora.ud_english_ewt import FILES

SENTENCES = treebank.generate(1500, seed=1)
BEINGS = {
    word.split("/")[0]
    for (kind, _), words in lexicon.NOUNS.items()
    if kind == "being"
    for word in words.split()
}
PRONOUNS = {
    "he": "he him his himself",
    "she": "she her hers herself",
    "it": "it its itself",
    "they": "they them their themselves",
}


def below(sentence: Sentence, word: int) -> set[int]:
    """A word and all that hang below it."""
    found = {word}
    while more := {w for w, head in enumerate(sentence.heads, 1) if head in found} - found:
        found |= more
    return found


def number_of(sentence: Sentence, word: int) -> str:
    return key_of(sentence.feats[word - 1], "Number")


def subjects(sentence: Sentence) -> Iterator[tuple[int, int]]:
    """Finite verbs and their subjects, by heads and relations alone."""
    for verb, feats in enumerate(sentence.feats, start=1):
        if key_of(feats, "VerbForm") == "Fin":
            clause = sentence.heads[verb - 1] if sentence.upos[verb - 1] == "AUX" else verb
            (subject,) = (
                word
                for word, (head, relation) in enumerate(
                    zip(sentence.heads, sentence.deprels, strict=True), start=1
                )
                if head == clause and relation.startswith("nsubj")
            )
            if sentence.feats[subject - 1] == "PronType=Rel":
                subject = sentence.heads[clause - 1]
            yield verb, subject


def between(sentence: Sentence, subject: int, verb: int) -> list[str]:
    """The numbers of the nouns between a subject and its verb."""
    words = range(subject + 1, verb)
    nouns = [word for word in words if sentence.upos[word - 1] in ("NOUN", "PROPN")]
    return [number_of(sentence, word) for word in nouns]


def test_every_tree_has_one_root_and_is_projective() -> None:
    for sentence in SENTENCES:
        assert sentence.heads.count(0) == sentence.deprels.count("root") == 1
        root = sentence.heads.index(0) + 1
        assert below(sentence, root) == set(range(1, len(sentence.forms) + 1))
        for word, head in enumerate(sentence.heads, start=1):
            inside = range(min(word, head) + 1, max(word, head))
            assert not head or set(inside) <= below(sentence, head), sentence.text


def test_verbs_agree_with_their_subjects() -> None:
    seen = Counter()
    for sentence in SENTENCES:
        found = {each.verb: each for each in treebank.agreements(sentence)}
        assert {verb: each.subject for verb, each in found.items()} == dict(subjects(sentence))
        for verb, subject in subjects(sentence):
            form, tag = sentence.forms[verb - 1].lower(), sentence.xpos[verb - 1]
            number = number_of(sentence, subject)
            assert number_of(sentence, verb) == number in ("Sing", "Plur")
            assert tag in ("VBZ", "VBP", "VBD")
            assert tag == "VBD" or (tag == "VBZ") == (number == "Sing")
            if tag != "VBD":
                assert form.endswith("s") == (number == "Sing"), form
            elif form in ("was", "were"):
                assert (form == "was") == (number == "Sing")
            assert (found[verb].other_form is None) == (
                tag == "VBD" and form not in ("was", "were")
            )
            others = between(sentence, subject, verb)
            assert found[verb].attractors == sum(other != number for other in others)
            seen[found[verb].attractors] += 1
    assert seen[0] > 1000 and seen[1] > 200 and seen[2] > 20


def test_determiners_and_numerals_agree_with_their_nouns() -> None:
    singular, plural = {"a", "an", "this", "that", "every"}, {"these", "those", "some"}
    for sentence in SENTENCES:
        for word, relation in enumerate(sentence.deprels):
            number = number_of(sentence, sentence.heads[word])
            form, after = sentence.forms[word].lower(), sentence.forms[word + 1 :]
            if relation == "det" and form != "the":
                assert form in (singular if number == "Sing" else plural)
            if form in ("a", "an"):
                assert (form == "an") == (after[0][0] in "aeiou")
            assert relation != "nummod" or number == "Plur"


@pytest.mark.parametrize("nonsense", [False, True])
@pytest.mark.parametrize("attractors", range(5))
def test_pairs_differ_in_one_verb_over_so_many_attractors(attractors: int, nonsense: bool) -> None:
    pairs = treebank.agreement_pairs(60, attractors=attractors, seed=3, nonsense=nonsense)
    assert len({pair.good.text for pair in pairs}) == 60
    subjects_of = Counter()
    for good, bad, verb, subject, said in pairs:
        (place,) = (n for n, (a, b) in enumerate(zip(good.forms, bad.forms, strict=True)) if a != b)
        assert place == verb - 1 and (verb, subject) in set(subjects(good))
        root = good.heads.index(0) + 1
        assert verb == root or (good.heads[verb - 1] == root and good.upos[verb - 1] == "AUX")
        number = number_of(good, subject)
        assert number_of(good, verb) == number != number_of(bad, verb)
        assert {good.xpos[verb - 1], bad.xpos[verb - 1]} == {"VBZ", "VBP"}
        numbers = between(good, subject, verb)
        assert said == attractors == len(numbers) and number not in numbers
        assert bad.forms[verb - 1] in bad.comments[2] and bad.text in bad.comments[1]
        subjects_of[number] += 1
    assert subjects_of == {"Sing": 30, "Plur": 30}
    more = treebank.agreement_pairs(70, attractors=attractors, seed=3, nonsense=nonsense)
    assert more[:60] == pairs


def test_versions_without_sense_have_the_tags_and_trees_of_their_sentences() -> None:
    same = ("upos", "xpos", "feats", "heads", "deprels", "multiwords")
    content = {"NOUN", "PROPN", "VERB", "ADJ", "ADV"}
    for sentence in SENTENCES[:500]:
        other = treebank.without_sense(sentence, seed=5)
        if sentence.multiwords == other.multiwords:
            assert [getattr(other, name) for name in same] == [
                getattr(sentence, name) for name in same
            ]
        for word, tag in enumerate(sentence.upos):
            a, b = sentence.lemmas[word], other.lemmas[word]
            assert (a != b) == (tag in content)
            if tag == "NOUN":
                assert (a in BEINGS) != (b in BEINGS)
            if tag not in content and a != "a":
                assert sentence.forms[word].lower() == other.forms[word].lower()
        assert treebank.roles(other) == treebank.roles(sentence)
        assert [a[:3] for a in treebank.agreements(other)] == [
            a[:3] for a in treebank.agreements(sentence)
        ]
        assert treebank.phrases(other) == treebank.phrases(sentence)
        assert treebank.antecedents(other) == {}
        assert other.comments[1] == f"text = {other.text}" and other.text[0].isupper()
    assert treebank.without_sense(SENTENCES[0], seed=5) == treebank.without_sense(
        SENTENCES[0], seed=5
    )
    assert treebank.without_sense(SENTENCES[0], seed=5) != treebank.without_sense(
        SENTENCES[0], seed=6
    )


def constituents(tree: str) -> tuple[list[tuple[str, int, int]], list[tuple[str, str]]]:
    """The spans (name, first, end) and the leaves (tag, form) of a tree, token by token."""
    spans, leaves, opened = [], [], []
    tokens = re.findall(r"\(|\)|[^\s()]+", tree)
    for before, token in zip(["", *tokens], tokens, strict=False):
        if token == ")":
            name, first = opened.pop()
            spans.append((name, first, len(leaves)))
        elif before == "(":
            opened.append((token, len(leaves)))
        elif token != "(":
            leaves.append((opened[-1][0], token))
    assert not opened
    return spans, leaves


def test_phrases_hold_the_words_and_each_hangs_together() -> None:
    names = Counter()
    for sentence in SENTENCES[:500]:
        spans, leaves = constituents(treebank.tree_of(sentence))
        assert leaves == list(zip(sentence.xpos, sentence.forms, strict=True))
        pairs = treebank.phrases(sentence)
        for word in range(len(leaves)):
            around = sorted(
                (end - first, order, name)
                for order, (name, first, end) in enumerate(spans)
                if first <= word < end
            )
            assert [name for *_, name in [*around[1:3], (0, 0, "")]][:2] == list(pairs[word])
        for name, first, end in spans:
            out = [w for w in range(first, end) if not first < sentence.heads[w] <= end]
            assert len(out) == 1, (sentence.text, name)
            names[name] += 1
    assert {"S", "SBAR", "NP", "VP", "PP", "ADJP", "ADVP", "WHNP"} <= set(names)


def test_chunks_are_runs_of_words_in_one_smallest_phrase() -> None:
    begun = Counter()
    for sentence in SENTENCES[:500]:
        spans, _ = constituents(treebank.tree_of(sentence))
        smallest = [  # the first of those around a word is its own tag
            sorted((e - f, order, name) for order, (name, f, e) in enumerate(spans) if f <= w < e)[
                1
            ]
            for w in range(len(sentence.forms))
        ]
        for word, chunk in enumerate(treebank.chunks(sentence)):
            inside = word > 0 and smallest[word] == smallest[word - 1]
            name = smallest[word][2]
            assert chunk == ("O" if name in ("S", "SBAR") else f"{'BI'[inside]}-{name}")
            begun[chunk] += 1
    assert {"B-NP", "I-NP", "B-VP", "B-PP", "O"} <= set(begun)


def test_a_pronoun_means_the_one_earlier_noun_that_it_fits() -> None:
    gender = {
        word.split("/")[0].lower(): sex
        for table in (lexicon.NOUNS, {("", sex): names for sex, names in lexicon.NAMES.items()})
        for (_, sex), words in table.items()
        for word in words.split()
    }
    fits = {"he": "mcx", "she": "fcx", "it": "nx"}
    seen = Counter()
    for sentence in SENTENCES:
        found = treebank.antecedents(sentence)
        personal = [w for w, f in enumerate(sentence.feats, 1) if key_of(f, "PronType") == "Prs"]
        assert list(found) == personal
        for word, noun in found.items():
            form = sentence.forms[word - 1].lower()
            (name,) = (name for name, forms in PRONOUNS.items() if form in forms.split())
            earlier = [w for w in range(1, word) if sentence.upos[w - 1] in ("NOUN", "PROPN")]
            fitting = [
                w
                for w in earlier
                if (number_of(sentence, w) == "Plur") == (name == "they")
                and (name == "they" or gender[sentence.lemmas[w - 1].lower()] in fits[name])
            ]
            assert fitting == [noun], sentence.text
            if form.endswith(("self", "selves")):
                verb = sentence.heads[word - 1]
                assert sentence.heads[noun - 1] == verb and sentence.deprels[noun - 1] == "nsubj"
            seen[name] += 1
    assert seen["they"] > 50 and min(seen[name] for name in fits) > 20


def test_who_does_what_to_whom() -> None:
    """Roles against relations: a passive turns them round, "that" and its noun are one."""
    moved = 0
    for sentence in SENTENCES:
        roles = {(each.word, each.verb): each.role for each in treebank.roles(sentence)}
        for verb, tag in enumerate(sentence.upos, start=1):
            if tag != "VERB":
                continue
            below_it = {
                relation: word
                for word, (head, relation) in enumerate(
                    zip(sentence.heads, sentence.deprels, strict=True), start=1
                )
                if head == verb
            }
            own = {word: role for (word, of), role in roles.items() if of == verb}
            group = lexicon.BY_LEMMA["VERB", sentence.lemmas[verb - 1]].group
            if "nsubj:pass" in below_it:
                expected = {below_it["nsubj:pass"]: "patient"}
                expected |= {below_it[r]: "agent" for r in ("obl:agent",) if r in below_it}
                moved += 1
            elif sentence.deprels[verb - 1] == "acl:relcl":
                noun, subject = sentence.heads[verb - 1], below_it["nsubj"]
                if sentence.forms[subject - 1] == "that":
                    expected = {noun: "agent", below_it["obj"]: "patient"}
                else:
                    expected = {noun: "patient", subject: "agent"}
            else:
                expected = {below_it["nsubj"]: "patient" if group == "Fall" else "agent"}
                expected |= {below_it[r]: "patient" for r in ("obj",) if r in below_it}
            assert own == expected, sentence.text
        assert not [verb for _, verb in roles if sentence.upos[verb - 1] != "VERB"]
    assert moved > 200


def test_sentences_are_all_different_and_follow_from_the_seed() -> None:
    assert treebank.generate(500, seed=1) == SENTENCES[:500]
    assert len({sentence.text for sentence in SENTENCES}) == len(SENTENCES)
    assert treebank.generate(20, seed=2) != SENTENCES[:20] and treebank.generate(0) == []
    data = treebank.splits(300, 100, 100, seed=1)
    texts = {split: set(rows["text"]) for split, rows in data.items()}
    sizes = {split: len(different) for split, different in texts.items()}
    assert sizes == {"train": 300, "validation": 100, "test": 100}
    assert len(set.union(*texts.values())) == 500
    assert Sentence.of(data["test"][0]) == SENTENCES[400]
    assert data["train"].column_names == list(conllu.COLUMNS)
    assert corpora.name_of(data) == "treebank" and corpora.caption_note(data) == ""


def test_the_sample_is_what_the_grammar_makes(tmp_path: Path) -> None:
    data = treebank.splits(200, 50, 50, seed=0)
    for split, name in FILES.items():
        path = files.bundled("data/samples/ud-english-ewt") / name
        conllu.write(tmp_path / name, map(Sentence.of, data[split]))
        assert path.read_bytes() == (tmp_path / name).read_bytes(), (
            "the grammar makes other sentences than the bundled sample has: write it again, with "
            "conllu.write, and say so in the changelog"
        )


def test_a_contraction_is_one_token_and_two_words() -> None:
    found = [sentence for sentence in SENTENCES if sentence.multiwords]
    assert len(found) > 50
    for sentence in found:
        spelled = tuple(sentence.text[start:end] for start, end in sentence.spans)
        assert spelled == sentence.forms
        for token in sentence.multiwords:
            assert token.form.lower() in ("doesn't", "don't", "didn't")
            assert sentence.heads[token.first - 1] == sentence.heads[token.last - 1]


FORMS = {
    (
        "NOUN",
        "pl",
        "",
    ): "wolf/wolves mouse/mice library/libraries key/keys church/churches",
    ("VERB", "sg", "pres"): "carry/carries annoy/annoys watch/watches",
    ("VERB", "sg", "past"): "carry/carried annoy/annoyed love/loved throw/threw",
    ("VERB", "sg", "done"): "throw/thrown teach/taught help/helped",
    ("VERB", "pl", "pres"): "vanish/vanish pray/pray",
}


@pytest.mark.parametrize(("tag", "number", "tense"), FORMS)
def test_forms_of_words(tag: str, number: str, tense: str) -> None:
    for pair in FORMS[tag, number, tense].split():
        lemma, form = pair.split("/")
        assert inflected(lexicon.BY_LEMMA[tag, lemma], number, tense).form == form


def test_the_lexicon_has_no_word_twice_and_the_rules_use_it() -> None:
    words = [lexeme for lexemes in lexicon.LEXICON.values() for lexeme in lexemes]
    assert 300 <= len(words) == len(lexicon.BY_LEMMA) <= 500
    used = Counter(lemma for sentence in SENTENCES for lemma in sentence.lemmas)
    assert {lexeme.lemma for lexeme in words} <= set(used)
    rules = grammar.rules()
    children = {child.symbol for each in rules.values() for rule in each for child in rule.children}
    assert set(rules) - children == {"S.top", "S.agree"}
    for each in (rule for found in rules.values() for rule in found):
        assert [child.relation for child in each.children].count("*") == 1


def test_what_cannot_be_made_is_said() -> None:
    with pytest.raises(ValueError, match="expected a number of sentences of at least 0, got -1"):
        treebank.generate(-1)
    with pytest.raises(ValueError, match="expected a number of sentences of at least 0, got -5"):
        treebank.splits(10, -5, 0)
    with pytest.raises(ValueError, match="expected 0 to 4 attractors, got 5"):
        treebank.agreement_pairs(1, attractors=5)
    (other,) = conllu_of("1\tBlorp\tblorp\tNOUN\tNN\tNumber=Sing\t0\troot\t_\t_")
    with pytest.raises(ValueError, match="words, got one with 'blorp'"):
        treebank.without_sense(other)


def conllu_of(*lines: str) -> list[Sentence]:
    columns = list(zip(*(line.split("\t") for line in lines), strict=True))
    cells = [*columns[1:6], tuple(map(int, columns[6])), columns[7], columns[9]]
    return [Sentence(*cells)]


def test_a_sentence_by_hand() -> None:
    sentence = treebank.generate(375)[374]
    assert sentence.text == "These farmers their pilot calls are ignored by those monks."
    assert sentence.upos == (
        *("DET", "NOUN", "PRON", "NOUN", "VERB", "AUX", "VERB"),
        *("ADP", "DET", "NOUN", "PUNCT"),
    )
    assert sentence.heads == (2, 7, 4, 5, 2, 7, 0, 10, 10, 7, 7)
    assert sentence.deprels == (
        *("det", "nsubj:pass", "nmod:poss", "nsubj", "acl:relcl", "aux:pass", "root"),
        *("case", "det", "obl:agent", "punct"),
    )
    assert treebank.roles(sentence) == [
        treebank.Role(2, 5, "patient"),
        treebank.Role(2, 7, "patient"),
        treebank.Role(4, 5, "agent"),
        treebank.Role(10, 7, "agent"),
    ]
    assert treebank.antecedents(sentence) == {3: 2}
    assert treebank.agreements(sentence) == [
        treebank.Agreement(5, 4, 0, "call"),
        treebank.Agreement(6, 2, 1, "is"),
    ]
    assert treebank.phrases(sentence)[:5] == [
        *(("NP", "NP"), ("NP", "NP"), ("NP", "S"), ("NP", "S"), ("VP", "S")),
    ]
    assert treebank.phrases(sentence)[-1] == ("S", "")
