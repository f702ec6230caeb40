"""Lesson 09b: a dialogue as tokens, token types and targets (Wolf et al., 2019)."""

import random

from tlcourse.exercises.expect import expect_unchanged
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying

task = Exercise(
    __name__,
    number="9b.1",
    title="The input of a dialogue",
    difficulty=3,
    importance=5,
    minutes=15,
    hints=(
        "Begin with `tokens = list(persona)` and as many types 0. For utterance `number` of the "
        "history, add the user's token if `number` is even and the bot's if it is odd, and then "
        "the utterance.",
        "The reply is one more utterance of the bot, with `special['eos']` at its end. Every token "
        "of an utterance, its speaker's token too, has the type of its speaker.",
        "A target is the token at the *next* position. All targets are -100 up to the speaker's "
        "token before the reply, whose target is the first token of the reply; the last target "
        "is -100, because nothing follows <eos>.",
    ),
)


@task.reference
def dialogue_input(persona, history, reply, special):
    """The tokens of a dialogue, the type of each, and the token it has to predict or -100."""
    tokens, types = list(persona), [0] * len(persona)
    for number, utterance in enumerate([*history, [*reply, special["eos"]]]):
        speaker = "bot" if number % 2 else "user"
        tokens += [special[speaker], *utterance]
        types += [2 if number % 2 else 1] * (1 + len(utterance))
    answer = [*reply, special["eos"]]
    return tokens, types, [-100] * (len(tokens) - len(answer) - 1) + answer + [-100]


@task.truth
def by_places(persona, history, reply, special):
    """The same with types and targets read off the finished tokens."""
    tokens = [*persona]
    for place, utterance in enumerate(history):
        tokens += [special[("user", "bot")[place % 2]]] + [*utterance]
    start = len(tokens)  # the place of the speaker's token before the reply
    tokens += [special["bot"], *reply, special["eos"]]
    kinds = {special["user"]: 1, special["bot"]: 2}
    types = [0]
    for token in tokens:
        types.append(kinds.get(token, types[-1]))
    targets = [
        tokens[place + 1] if start <= place < len(tokens) - 1 else -100
        for place in range(len(tokens))
    ]
    return tokens, types[1:], targets


def part(number):
    """A measure of one of the three lists; tuples and other sequences count as lists."""

    def measure(candidate, *given):
        got = expect_unchanged(candidate, *given)
        if isinstance(got, list | tuple) and len(got) == 3:
            return list(got[number]) if hasattr(got[number], "__iter__") else got[number]
        return got

    return {"measure": measure, "expected": lambda *given: by_places(*given)[number]}


def all_three(candidate, *given):
    return [part(number)["measure"](candidate, *given) for number in range(3)]


SPECIAL = {"user": 1, "bot": 2, "eos": 0}
ONE_TURN = [11, 12], [[21, 22]], [31, 32], SPECIAL
THREE_TURNS = [11], [[21], [22, 23], [24]], [31, 32, 33], SPECIAL


def drawn():
    """30 random dialogues, with other ids of the special tokens each time."""
    generator = random.Random(varying(0))
    for _ in range(30):
        special = dict(zip(SPECIAL, generator.sample(range(10), 3), strict=True))
        lengths = [generator.randrange(1, 5) for _ in range(2 + generator.choice((1, 3, 5)))]
        persona, reply, *history = (
            [generator.randrange(10, 99) for _ in range(length)] for length in lengths
        )
        yield case("", persona, history, reply, special)


task.stage(
    "tokens",
    case("the tokens of a dialogue with one utterance before the reply", *ONE_TURN),
    case("the tokens with three utterances before the reply", *THREE_TURNS),
    hint="Return three lists. The tokens are the persona, then a speaker's token before each "
    "utterance and before the reply, and <eos> at the end. The user speaks first.",
    **part(0),
)
task.stage(
    "types",
    case("the types of a dialogue with one utterance before the reply", *ONE_TURN),
    case("the types with three utterances before the reply", *THREE_TURNS),
    hint="The persona has type 0, the user 1 and the bot 2. A speaker's token has the type of the "
    "utterance that it begins, and so has <eos>.",
    **part(1),
)
task.stage(
    "targets",
    case("the targets of a dialogue with one utterance before the reply", *ONE_TURN),
    case("the targets with three utterances before the reply", *THREE_TURNS),
    hint="The target of a position is the token at the next position, and only the tokens of the "
    "reply and its <eos> are targets.",
    **part(2),
)
task.stage(
    "30 random dialogues",
    *drawn(),
    hint="Take the ids of the special tokens from `special`.",
    measure=all_three,
    expected=lambda *given: list(by_places(*given)),
)


def with_targets(change):
    """The reference with other targets: `change` gets tokens, the reference's targets, the row."""

    def wrong(*given):
        tokens, types, targets = dialogue_input(*given)
        return tokens, types, change(tokens, targets, given)

    return wrong


task.mistakes(
    (
        "These targets are not shifted: each is the token at its own position, which the model "
        "has just read. It must predict the next one.",
        with_targets(lambda tokens, targets, given: [-100, *targets[:-1]]),
    ),
    (
        "The <eos> is no target here, so the model never learns to stop.",
        with_targets(lambda tokens, targets, given: [*targets[:-2], -100, -100]),
    ),
    (
        "Here every token is a target, so the model also learns to write the persona and what the "
        "user says.",
        with_targets(lambda tokens, targets, given: [*tokens[1:], -100]),
    ),
    (
        "The first token of the reply is no target here. The speaker's token before it predicts "
        "it.",
        with_targets(
            lambda tokens, targets, given: [
                -100 if place < len(tokens) - len(given[2]) - 1 else target
                for place, target in enumerate(targets)
            ]
        ),
    ),
)
