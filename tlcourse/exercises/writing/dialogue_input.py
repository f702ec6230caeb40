"""Lesson 09b: a dialogue as tokens, token types and targets (Wolf et al., 2019)."""

import random

from tlcourse.exercises.measures import list_by_list
from tlcourse.exercises.task import Exercise
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


parts = list_by_list(("tokens", "types", "targets"), by_places)

SPECIAL = {"user": 1, "bot": 2, "eos": 0}
OTHER = {"eos": 7, "bot": 4, "user": 9}
THREE_TURNS = [11], [[21], [22, 23], [24]], [31, 32, 33]


def drawn():
    """30 random dialogues, with other ids of the special tokens each time."""
    generator = random.Random(varying(0))
    for _ in range(30):
        ids = generator.sample(range(10), 3)
        special = dict(zip(generator.sample([*SPECIAL], 3), ids, strict=True))
        lengths = [generator.randrange(5) for _ in range(2 + generator.choice((1, 3, 5, 7)))]
        persona, reply, *history = (
            [generator.randrange(10, 99) for _ in range(length)] for length in lengths
        )
        what = f"`dialogue_input({persona}, {history}, {reply}, {special})`"
        yield from parts(what, persona, history, reply, special)


tokens, types, targets = zip(
    parts(
        "a dialogue with one utterance before the reply", [11, 12], [[21, 22]], [31, 32], SPECIAL
    ),
    parts("a dialogue with three utterances before the reply", *THREE_TURNS, SPECIAL),
    strict=True,
)
task.stage(
    "tokens",
    *tokens,
    hint="The tokens are the persona, then a speaker's token before each utterance and before the "
    "reply, and <eos> at the end. The user speaks first.",
)
task.stage(
    "types",
    *types,
    hint="The persona has type 0, the user 1 and the bot 2. A speaker's token has the type of the "
    "utterance that it begins, and <eos> has the type of the reply.",
)
task.stage(
    "targets",
    *targets,
    parts("a reply that repeats the utterance before it", [11], [[31, 32]], [31, 32], SPECIAL)[2],
    hint="The target of a position is the token at the next position, and only the tokens of the "
    "reply and its <eos> are targets.",
)
task.stage(
    "other special tokens",
    *parts(f"a dialogue with `special = {OTHER}`", *THREE_TURNS, OTHER),
    hint="The ids of the special tokens stand in `special`, by name and in any order. The types "
    "are 0, 1 and 2 with any ids.",
)
task.stage(
    "long and empty parts",
    *parts(
        "seven utterances before the reply",
        *([11, 12], [[20 + turn] for turn in range(7)], [31, 32], SPECIAL),
        hint="All utterances count, however many there are.",
    ),
    *parts("a dialogue without a persona", [], [[21, 22]], [31, 32], SPECIAL),
    *parts("an empty utterance and an empty reply", [11], [[21], [], [22]], [], SPECIAL),
    hint="A persona, an utterance or a reply may be empty. An empty utterance keeps its speaker's "
    "token.",
)
task.stage("30 random dialogues", *drawn())


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
