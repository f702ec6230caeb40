"""Right and wrong answers to exercise 9b.1, and its agreement with `Generator`."""

import torch

from tests.adaptation.made import TOKENIZER, make
from tests.exercises.standard import accepts, rejects
from tlcourse.adaptation import Generator
from tlcourse.exercises.writing.dialogue_input import dialogue_input
from tlcourse.transformer import grow_types, grow_vocabulary


def by_segments(persona, history, reply, special):
    user, bot = (special["user"], 1), (special["bot"], 2)
    segments = [(persona, 0)]
    for utterance, (token, kind) in zip([*history, reply], [user, bot] * 9, strict=False):
        segments.append(([token, *utterance], kind))
    segments.append(([special["eos"]], 2))
    tokens = [token for ids, _ in segments for token in ids]
    types = [kind for ids, kind in segments for _ in ids]
    start = len(tokens) - len(reply) - 1
    targets = [-100] * len(tokens)
    targets[start - 1 : -1] = tokens[start:]
    return tokens, types, targets


def by_recursion(persona, history, reply, special):
    if not history:
        answer = [*reply, special["eos"]]
        before = len(persona)
        return (
            [*persona, special["bot"], *answer],
            [0] * before + [2] * (1 + len(answer)),
            [-100] * before + [*answer, -100],
        )
    *before, last = history
    token, kind = (special["user"], 1) if len(before) % 2 == 0 else (special["bot"], 2)
    tokens, types, targets = by_recursion(persona, before, reply, special)
    at, more = len(tokens) - len(reply) - 2, [token, *last]
    return (
        tokens[:at] + more + tokens[at:],
        types[:at] + [kind] * len(more) + types[at:],
        targets[:at] + [-100] * len(more) + targets[at:],
    )


def bot_first(persona, history, reply, special):
    swapped = special | {"user": special["bot"], "bot": special["user"]}
    return dialogue_input(persona, history, reply, swapped)


def without_end(*given):
    return tuple(part[:-1] for part in dialogue_input(*given))


def speakers_of_type_0(*given):
    tokens, types, targets = dialogue_input(*given)
    return tokens, [0 if t in (1, 2) else k for t, k in zip(tokens, types, strict=True)], targets


def numbers_as_types(persona, history, reply, special):
    tokens, _, targets = dialogue_input(persona, history, reply, special)
    types = [0] * len(persona)
    for number, utterance in enumerate([*history, [*reply, 0]], start=1):
        types += [number] * (1 + len(utterance))
    return tokens, types, targets


def zeros_for_ignored(*given):
    tokens, types, targets = dialogue_input(*given)
    return tokens, types, [0 if target == -100 else target for target in targets]


def fixed_specials(persona, history, reply, special):
    return dialogue_input(persona, history, reply, {"user": 1, "bot": 2, "eos": 0})


def specials_in_order(persona, history, reply, special):
    names = dict(zip(("user", "bot", "eos"), special.values(), strict=True))
    return dialogue_input(persona, history, reply, names)


def with_persona(persona, history, reply, special):
    assert persona
    return dialogue_input(persona, history, reply, special)


def default_persona(persona, history, reply, special):
    return dialogue_input(persona or [0], history, reply, special)


def last_five(persona, history, reply, special):
    return dialogue_input(persona, history[-5:], reply, special)


def without_empty_texts(persona, history, reply, special):
    assert all(history) and reply
    return dialogue_input(persona, history, reply, special)


def last_ids_as_targets(persona, history, reply, special):
    tokens, types, _ = dialogue_input(persona, history, reply, special)
    count = len(reply)
    targets = [-100] * (len(tokens) - count - 2) + [*tokens[:-1][-count:], tokens[-1], -100]
    return tokens, types, targets[: len(tokens)]


def by_value(persona, history, reply, special):
    tokens, types, _ = dialogue_input(persona, history, reply, special)
    wanted = {*reply, special["eos"]}
    return tokens, types, [t if t in wanted else -100 for t in tokens[1:]] + [-100]


def types_of_ids(persona, history, reply, special):
    tokens, types, targets = dialogue_input(persona, history, reply, special)
    kinds = {0: 0, 1: special["user"], 2: special["bot"]}
    return tokens, [kinds[kind] for kind in types], targets


test_dialogue_input_right = accepts("writing.dialogue_input", by_segments, by_recursion)
test_dialogue_input_wrong = rejects(
    "writing.dialogue_input",
    (bot_first, 1, "The user speaks first"),
    (without_end, 1, "<eos> at the end"),
    (speakers_of_type_0, 2, "type of the utterance that it begins"),
    (numbers_as_types, 2, "three utterances"),
    (zeros_for_ignored, 3, "only the tokens of the reply"),
    (by_value, 3, "that repeats"),
    (lambda *given: print(), 1, "None (is a `return` missing?)"),
    (lambda *given: [*map(torch.tensor, dialogue_input(*given))], 1, "Return Python's lists"),
    (lambda *given: dialogue_input(*given)[:2], 1, "2\nExpected: 3"),
    (fixed_specials, 4, "stand in `special`"),
    (specials_in_order, 4, "in any order"),
    (types_of_ids, 4, "0, 1 and 2 with any ids"),
    (last_five, 5, "however many there are"),
    (with_persona, 5, "AssertionError"),
    (default_persona, 5, "may be empty"),
    (without_empty_texts, 5, "AssertionError"),
    (last_ids_as_targets, 5, "may be empty"),
)


def test_the_reference_builds_what_the_generator_builds():
    tokenizer = TOKENIZER.with_specials("<user>", "<bot>")
    body = grow_types(grow_vocabulary(make().body, 2), 3)
    model = Generator(body, tokenizer, speakers=["<user>", "<bot>"])
    persona, history, reply = "the old town", ["Who ran ?", "the town", "When ?"], "the song"
    prompt = [("", persona)] + list(zip(["<user>", "<bot>", "<user>"], history, strict=True))
    (ids,), target = model.examples([prompt], [reply])
    special = {"user": model.ids["<user>"], "bot": model.ids["<bot>"], "eos": model.end}
    texts = tokenizer.read(persona), [tokenizer.read(text) for text in history]
    tokens, types, targets = dialogue_input(*texts, tokenizer.read(reply), special)
    assert (tokens, targets) == (ids[0], target[0].tolist())
    assert types == model._types(torch.tensor([tokens]))["types"][0].tolist()
