"""A toy pair of languages with gold alignments, drawn from a small grammar.

    from tlcourse import corpora

    row = corpora.toy_translations(1)[0]
    row["source"]       # such as "the old baker finds a boat"
    row["target"]       # then "pel kora un losu bari"
    row["alignment"]    # and [[1, 1], [2, 0], [3, 4], ...]: (source word, target word)

The source reads as English. The target language is invented: its adjectives follow their nouns, its
verbs come last, *the* has no word, and two nouns take two words each. Most words therefore change
their places, and the alignment of every sentence is known.
"""

import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import datasets

ARTICLES = {"the": "", "a": "un"}
ADJECTIVES = {
    "old": "kora", "young": "seth", "tall": "bino", "red": "luma", "small": "peth",
    "quiet": "dar", "happy": "sona", "strange": "gam",
}  # fmt: skip
NOUNS = {
    "baker": "pel", "teacher": "ola miri", "child": "tano", "doctor": "ras", "queen": "vora",
    "farmer": "ken", "boat": "losu", "letter": "fara", "house": "dom", "bridge": "ilo stan",
    "lamp": "nur", "horse": "kavi",
}  # fmt: skip
VERBS = {
    "finds": "bari", "sees": "mira", "paints": "colo", "sells": "ved", "follows": "shan",
    "forgets": "nebu", "carries": "porta", "describes": "zari",
}  # fmt: skip
ADVERBS = {"today": "hodi", "often": "sempa", "": ""}
PHRASES = 2 * (1 + len(ADJECTIVES)) * len(NOUNS)  # noun phrases
SENTENCES = len(ADVERBS) * len(VERBS) * PHRASES**2


def toy_translations(count: int, *, seed: int = 0) -> "datasets.Dataset":
    """`count` different sentences with their translations, drawn with `seed`.

    Columns: source and target, texts whose words are separated by a space, and alignment, a list of
    pairs [source word, target word], counted from 0. Any two sentences of a data set differ, so a
    split of it never shares a sentence. Raises ValueError for a count below 1, or of more sentences
    than there are.
    """
    if not 1 <= count <= SENTENCES // 2:
        raise ValueError(f"expected from 1 to {SENTENCES // 2:,} sentences, got {count:,}")
    import datasets  # takes a second, so only here

    generator = random.Random(seed)
    rows: dict[str, dict] = {}
    while len(rows) < count:
        row = _translated(*_sentence(generator))
        rows.setdefault(row["source"], row)
    return datasets.Dataset.from_list(list(rows.values()))


def _sentence(generator: random.Random) -> tuple[list[str], list[int]]:
    """The words of a source sentence, and their numbers in the order of the target."""
    words, order = [], []

    def phrase() -> None:
        noun = [generator.choice([*ARTICLES])]
        if generator.random() < 0.7:
            noun.append(generator.choice([*ADJECTIVES]))
        noun.append(generator.choice([*NOUNS]))
        numbers = list(range(len(words), len(words) + len(noun)))
        words.extend(noun)
        order.extend([numbers[0], numbers[-1], *numbers[1:-1]])  # the adjective comes last

    if adverb := generator.choice([*ADVERBS]):
        words.append(adverb)
        order.append(0)
    phrase()
    verb = len(words)
    words.append(generator.choice([*VERBS]))
    phrase()
    return words, [*order, verb]


def _translated(words: list[str], order: list[int]) -> dict:
    """A row: both texts, and the pairs of words that translate each other."""
    lexicon = ARTICLES | ADJECTIVES | NOUNS | VERBS | ADVERBS
    parts = [(number, part) for number in order for part in lexicon[words[number]].split()]
    pairs = [[number, place] for place, (number, _) in enumerate(parts)]
    return {
        "source": " ".join(words),
        "target": " ".join(part for _, part in parts),
        "alignment": sorted(pairs),
    }
