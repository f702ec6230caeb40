"""English and Simple English Wikipedia in WikiText's format, 447 MB; it is not WikiText-103.

Column: text, one line a row.
"""

from tlcourse.corpora.checks import Facts
from tlcourse.corpora.wikitext import TOKENS, wikitext

FACTS = {
    "train": Facts(
        rows=2_421_982,
        words=86_304_528,
        digest="968ef009939ca1a754460a7f6e7c37f0d72357089ef58e595d4eac991ca5f035",
    )
}

CORPUS = wikitext(
    "wikipedia-standin",
    {"train": TOKENS["train"]},
    FACTS,
    blank_after_title=False,
    streamed=True,
    card="`wikipedia-standin` is English and Simple English Wikipedia in WikiText's format; it is "
    "not WikiText-103. Left out of it are articles that share a title or sampled runs of 12 "
    "words with WikiText's validation and test articles; a paraphrase would not be noticed.",
    caption="On wikipedia-standin, which is not WikiText-103.",
    lesson=3,
)
