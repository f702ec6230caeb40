"""Writes tests/spans_cases.json: random cases, scored by seqeval 1.2.2 and torchmetrics 1.9.0.

pip install seqeval torchmetrics        # in an environment of their own
python tests/make_spans_cases.py
"""

import json
import random
from pathlib import Path

from seqeval.metrics import f1_score, precision_score, recall_score
from torchmetrics.functional.text import squad

TAGS = ["O", "O", "O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
WORDS = [
    "the",
    "a",
    "an",
    "cat",
    "Dog,",
    "dog",
    "sat.",
    "on",
    "The",
    "mat",
    "mat's",
    "1,000",
    "1000",
    "New-York",
    "new",
    "york!",
    "(",
    ")",
    "ü",
]
draw = random.Random(0)


def tags() -> list:
    """Gold and predicted tags of up to three sentences: precision, recall, F1."""
    gold = [
        [draw.choice(TAGS) for _ in range(draw.randint(1, 8))] for _ in range(draw.randint(1, 3))
    ]
    guess = [[tag if draw.random() < 0.7 else draw.choice(TAGS) for tag in row] for row in gold]
    scores = (score(gold, guess) for score in (precision_score, recall_score, f1_score))
    return [gold, guess, *(round(float(score), 12) for score in scores)]


def answer() -> list:
    """An answer and up to three gold ones: exact match, F1."""
    gold = [" ".join(draw.choices(WORDS, k=draw.randint(1, 4))) for _ in range(draw.randint(1, 3))]
    text = " ".join(draw.choices(WORDS, k=draw.randint(1, 4)))
    text = text if draw.random() < 0.6 else draw.choice(gold).upper()
    right = {"answers": {"answer_start": [0] * len(gold), "text": gold}, "id": "1"}
    score = squad([{"prediction_text": text, "id": "1"}], [right])
    return [text, gold, float(score["exact_match"]) / 100, round(float(score["f1"]) / 100, 6)]


if __name__ == "__main__":
    cases = {"tags": [tags() for _ in range(200)], "answers": [answer() for _ in range(200)]}
    text = json.dumps(cases, separators=(",", ":"), ensure_ascii=False)
    Path(__file__).with_name("spans_cases.json").write_text(text + "\n", encoding="utf-8")
