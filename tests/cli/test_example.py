"""The README's example of a classifier of one's own texts runs as it is copied."""

import re
import shlex

from tlcourse import files
from tlcourse.adaptation import tables
from tlcourse.cli import main
from tlcourse.lessons import marks

EXAMPLES = files.root() / "data" / "examples"


def pair() -> list[list[str]]:
    """The words of the two commands."""
    block = marks.between((files.root() / "README.md").read_text(encoding="utf-8"), "example")
    (commands,) = re.findall(r"```bash\n(.*?)```", block, flags=re.DOTALL)
    return [shlex.split(line) for line in commands.splitlines()]


def test_the_pair_runs_in_any_folder(tmp_path, monkeypatch, capsys) -> None:
    adapt, predict = pair()
    assert adapt[:2] == ["tlcourse", "adapt"] and predict[:2] == ["tlcourse", "predict"]
    monkeypatch.chdir(tmp_path)
    assert main([*adapt[1:], "--epochs", "1"]) == 0
    said = capsys.readouterr().out
    assert "64 rows, 4 labels: complaint 16, order 16, praise 16, question 16" in said
    assert "in 2 steps" in said and re.search(r"test error: [\d.]+ %, \d+ of 16 rows", said)
    assert main(predict[1:]) == 0
    lines = capsys.readouterr().out.splitlines()
    texts = predict[3:]
    assert [line.split("\t")[2] for line in lines] == texts and len(texts) == 2


def test_the_messages_are_short_and_none_is_repeated() -> None:
    train = tables.examples(EXAMPLES / "cafe.csv")
    test = tables.examples(EXAMPLES / "cafe-test.csv", known=list(train.counts))
    assert set(train.counts.values()) == {16} and set(test.counts.values()) == {4}
    texts = [text.lower() for text in (*train.texts, *test.texts)]
    assert len(set(texts)) == len(texts) and max(map(len, texts)) <= 80
