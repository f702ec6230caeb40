"""Dialogues with invented people, drawn from a small grammar, after PersonaChat and ConvAI2.

In ConvAI2 (Dinan et al., 2019, on the data of Zhang et al., 2018), a speaker is given a few facts
about a person and has to answer as that person would. These dialogues are ours: far simpler, and
the right reply can be told from the wrong ones by the persona alone. Each topic below has ways to
state a fact, to ask for it and to reply, and values that are put into them.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import datasets


class Topic(NamedTuple):
    """Ways to state a fact, to ask for it and to reply; `{}` is the place of a value."""

    facts: tuple[str, ...]
    questions: tuple[str, ...]
    replies: tuple[str, ...]
    values: tuple[str, ...]


def _topic(facts: str, questions: str, replies: str, values: str) -> Topic:
    return Topic(*(tuple(part.split(" | ")) for part in (facts, questions, replies, values)))


TOPICS = {
    "pets": _topic(
        "I have {}. | At home I keep {}.",
        "Do you have any pets? | Do you keep animals? | Which animals live with you?",
        "Yes, I have {}. | Yes, {}! | I keep {} at home.",
        "two cats | a parrot | an old dog | three rabbits | a horse | a tortoise | twelve bees | "
        "a snake | four goats | a donkey | some fish | a white mouse",
    ),
    "home": _topic(
        "I live {}. | My house stands {}.",
        "Where do you live? | Where is your home? | Where is your house?",
        "I live {}. | My house is {}. | My home is {}.",
        "by the sea | in Paris | on a farm | in the mountains | near a lake | in Egypt | "
        "on an island | in London | in a forest | beside a railway | in Canada | in Tokyo",
    ),
    "work": _topic(
        "I work as {}. | I earn my living as {}.",
        "What is your job? | What do you do for a living? | Where do you work?",
        "I am {}. | I work as {}. | My job? I am {}.",
        "a nurse | a teacher | a soldier | an engineer | a farmer | a painter | a judge | "
        "a pilot | a priest | a journalist | a carpenter | a police officer",
    ),
    "food": _topic(
        "I love to eat {}. | My favourite food is {}.",
        "What do you like to eat? | What is your favourite food? | What shall I cook for you?",
        "I like {} best. | I love {}. | Nothing is better than {}.",
        "rice | fresh bread | apples | fish soup | cheese | potatoes | eggs | chocolate | "
        "mushrooms | beans | roast chicken | honey",
    ),
    "colour": _topic(
        "I like the colour {}. | My clothes are always {}.",
        "What is your favourite colour? | Which colour do you like? | What do you like to wear?",
        "I like {}. | My favourite is {}. | Always {}!",
        "red | blue | green | yellow | black | white | purple | orange | grey | brown | gold | "
        "silver",
    ),
    "music": _topic(
        "I play {}. | I am learning to play {}.",
        "Do you make music? | Which instrument do you play? | Are you a musician?",
        "Yes, I play {}. | I play {} every day. | A little, on {}.",
        "the piano | the guitar | the drums | the violin | the trumpet | the organ | the flute | "
        "the bass | the harp | the cello | the horn | the bells",
    ),
    "sport": _topic(
        "My sport is {}. | At weekends I train for {}.",
        "Do you do any sport? | What is your sport? | How do you keep fit?",
        "I train for {}. | My sport is {}. | Yes, {} is what I do.",
        "football | tennis | rugby | swimming | boxing | cricket | cycling | hockey | golf | "
        "basketball | rowing | skiing",
    ),
    "family": _topic(
        "I have a {}. | I grew up with a {}.",
        "Do you have brothers or sisters? | Tell me about your family. | Who is in your family?",
        "I have a {}. | There is my {}. | Yes, a {}.",
        "younger brother | twin sister | famous uncle | rich aunt | baby daughter | "
        "grown son | French wife | Russian husband | blind father | Scottish mother | "
        "tall cousin | brave grandmother",
    ),
    "reading": _topic(
        "I read books about {}. | I am writing a book about {}.",
        "What do you read? | Do you like books? | What is your book about?",
        "It is about {}. | Books about {}. | I read about {}.",
        "ships | the war | birds | the king | ghosts | the moon | trains | old castles | "
        "the Romans | murder | storms | plants",
    ),
    "travel": _topic(
        "I always travel {}. | I came here {}.",
        "How do you travel? | How did you come here? | How do you get about?",
        "I came {}. | I travel {}. | Always {}.",
        "by train | by ship | on foot | by bus | in a red car | by bicycle | by air | by boat | "
        "on a camel | by taxi | in a truck | by tram",
    ),
}
GREETINGS = ("Hello!", "Hi!", "Good morning!", "Nice to meet you.", "")


def persona_dialogues(count: int, *, seed: int = 0, candidates: int = 4) -> datasets.Dataset:
    """Returns `count` dialogues with the columns persona, history, reply and distractors.

    - persona: three or four facts, such as "I have two cats.", each of another topic;
    - history: one, three or five utterances; the user speaks first and last, and asks last for one
      of the facts;
    - reply: the answer that the persona gives;
    - distractors: `candidates` - 1 other replies. The last one is right for another question about
      this persona; the ones before it answer this question for other personas.

    The same arguments give the same dialogues. A persona of an even seed never occurs with an odd
    seed: train on one and test on the other. Its single facts do occur. Raises ValueError for a
    count below 1, and for fewer than 3 or more than 12 candidates.
    """
    import datasets

    most = min(len(topic.values) for topic in TOPICS.values())
    if count < 1 or not 3 <= candidates <= most:
        raise ValueError(
            f"expected at least one dialogue and 3 to {most} candidates, got {count} and "
            f"{candidates}"
        )
    generator = random.Random(seed)
    rows = [_dialogue(generator, seed % 2, candidates) for _ in range(count)]
    return datasets.Dataset.from_list(rows)


def _dialogue(generator: random.Random, parity: int, candidates: int) -> dict:
    known = _person(generator, parity)
    asked = generator.sample(list(known), generator.choice((1, 1, 2, 2, 3)))
    history: list[str] = []
    for name in asked:
        question = generator.choice(TOPICS[name].questions)
        greeting = "" if history else generator.choice(GREETINGS)
        history += [f"{greeting} {question}".strip(), _reply(generator, name, known[name])]
    last, reply = asked[-1], history.pop()
    others = [value for value in TOPICS[last].values if value != known[last]]
    wrong = [_reply(generator, last, value) for value in generator.sample(others, candidates - 2)]
    elsewhere = generator.choice([name for name in known if name != last])
    return {
        "persona": [
            generator.choice(TOPICS[name].facts).format(value) for name, value in known.items()
        ],
        "history": history,
        "reply": reply,
        "distractors": [*wrong, _reply(generator, elsewhere, known[elsewhere])],
    }


def _person(generator: random.Random, parity: int) -> dict[str, str]:
    """A value for each of three or four topics, whose places in the tables add up to the parity."""
    while True:
        names = generator.sample(list(TOPICS), generator.choice((3, 4)))
        places = {name: generator.randrange(len(TOPICS[name].values)) for name in names}
        if sum(places.values()) % 2 == parity:
            return {name: TOPICS[name].values[place] for name, place in places.items()}


def _reply(generator: random.Random, name: str, value: str) -> str:
    return generator.choice(TOPICS[name].replies).format(value)
