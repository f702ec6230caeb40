"""A drawing of lesson 04: a classifier is a pretrained body, a pooling and a linear layer."""

from collections.abc import Sequence

from tlcourse.views.drawing import PALE, PALE_BLUE, SIZE, arrow, box, canvas, label
from tlcourse.views.style import COLOURS, GREY, Picture, finish, text_width
from tlcourse.views.tokens import visible

_BLUE, _ROOM = COLOURS["blue"], 3.9  # inches for the tokens


def classifier_on_body(
    tokens: Sequence[str],
    labels: Sequence[str],
    answer: str,
    *,
    layers: int = 0,
    width: int = 0,
    title: str = "",
    alt: str = "",
    note: str | None = None,
) -> Picture:
    """Tokens run through a grey body; the state of the last goes through a blue head to a label.

    `answer` is the label that wins, `layers` and `width` are the body's. Raises ValueError for an
    answer that is no label, for a body without a size, for tokens that do not fit, and without
    title.
    """
    if min(layers, width) < 1:
        raise ValueError(f"expected a body with a size, got {layers} layers of width {width}")
    if answer not in labels:
        raise ValueError(f"expected an answer out of {list(labels)}, got {answer!r}")
    names = [visible(token.removeprefix(" ")) for token in tokens]
    wide = max(0.5, *(text_width(name, SIZE) + 0.2 for name in names))
    if wide * len(names) > _ROOM:
        raise ValueError(f"expected tokens that fit into {_ROOM} inches, got {len(names)}")
    picture, axes = canvas(title, 2.45)
    middle = 0.1 + wide * len(names) / 2
    body = box(axes, (middle, 0.95), width=wide * len(names), height=0.52, fill=PALE)
    label(axes, (middle, 1.05), f"body: {layers} blocks of width {width:,}", align="center")
    label(axes, (middle, 0.84), "pretrained (lessons 02 and 03)", align="center", colour=GREY)
    for place, name in enumerate(names):
        x, last = 0.1 + wide * (place + 0.5), place == len(names) - 1
        token = box(axes, (x, 0.28), name, width=wide - 0.06, height=0.26)
        arrow(axes, token.top, (x, body.bottom[1]))
        fill, edge = (PALE_BLUE, _BLUE) if last else ("white", "#9A9A9A")
        state = box(axes, (x, 1.65), width=wide - 0.06, height=0.2, fill=fill, edge=edge)
        arrow(axes, (x, body.top[1]), state.bottom)
    label(axes, (middle, 1.95), "a hidden state for each token", align="center", colour=GREY)
    blue = {"fill": PALE_BLUE, "edge": _BLUE}
    text = f"head (linear)\n{width:,} → {len(labels)}"
    head = box(axes, (5.15, 1.65), text, height=0.45, **blue)
    arrow(axes, state.right, head.left, colour=_BLUE)
    label(axes, ((state.right[0] + head.left[0]) / 2, 1.95), "last_token", align="center",
          colour=_BLUE)  # fmt: skip
    step = 2.2 / len(labels)
    for place, name in enumerate(labels):
        y, wins = 2.3 - step * (place + 0.5), name == answer
        found = box(axes, (6.4, y), name, width=0.72, height=step - 0.08, bold=wins,
                    **(blue if wins else {}))  # fmt: skip
        arrow(axes, head.right, found.left, colour=_BLUE if wins else "#9A9A9A")
    own = (
        f"{len(names)} tokens, the last of them {names[-1]}, go through a body of {layers} blocks. "
        f"The hidden state of the last goes through a linear head to {len(labels)} labels; "
        f"{answer} wins."
    )
    return finish(picture, alt or own, note)
