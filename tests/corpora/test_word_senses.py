import re
from collections import Counter

from tlcourse import corpora


def test_each_sense_has_five_sentences_in_each_split_and_its_word_once_in_lower_case():
    data = corpora.word_senses()
    for split in ("train", "test"):
        senses = Counter(zip(data[split]["word"], data[split]["sense"], strict=True))
        assert len(senses) == 12 and set(senses.values()) == {5}
        assert set(Counter(word for word, _ in senses).values()) == {2}
        for row in data[split]:
            assert len(re.findall(rf"\b{row['word']}\b", row["text"])) == 1
            assert row["text"].lower().count(row["word"]) == 1
    assert not set(data["train"]["text"]) & set(data["test"]["text"])
