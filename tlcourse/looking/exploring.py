"""An interactive figure of attention with a text box and menus; without widgets, the figure."""

import html
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import torch

from tlcourse.checkpoints import AnyTokenizer
from tlcourse.looking.scores import rollout
from tlcourse.transformer import Transformer, record
from tlcourse.views import Picture, head_grid, heat_map, token_lines
from tlcourse.views.interactive import widgets_on

LONGEST = 128  # tokens: with more, a figure cannot be read
NOTE = "One text: it shows what a head can do, not what it does as a rule."
PREFIX = " {:.0%} of the attention, not drawn, goes to a learned prefix."
FIRST = "this model"  # the name of the model in the menu, where others can be chosen


@dataclass(frozen=True)
class Choice:
    """The attention of a text, (layers, heads, length, length), and the block, head and token."""

    tokens: list[str]
    attention: np.ndarray
    note: str = NOTE
    block: int = 0
    head: int = 0
    token: int = 0  # the query


def _one_head(choice: Choice) -> Picture:
    weights, tokens = choice.attention[choice.block, choice.head], choice.tokens
    key, name = weights[choice.token].argmax(), f"{choice.block}.{choice.head}"
    return heat_map(
        weights,
        tokens,
        title=f"Head {name}: where each token looks",
        alt=f"Attention of head {name}; {tokens[choice.token]!r} looks most at {tokens[key]!r}, "
        f"with {weights[choice.token, key]:.2f}.",
        note=choice.note,
    )


def _from_one_token(choice: Choice) -> Picture:
    weights, token = choice.attention[choice.block, :, choice.token], choice.tokens[choice.token]
    best = [f"{choice.tokens[key]!r} in head {h}" for h, key in enumerate(weights.argmax(axis=-1))]
    return heat_map(
        weights,
        [f"{choice.block}.{head}" for head in range(len(weights))],
        keys=choice.tokens,
        title=f"Where “{token.strip()}” looks, in each head of block {choice.block}",
        alt=f"Heat map, a row a head. {token!r} looks most at {', at '.join(best)}.",
        note=choice.note,
        y_label="head",
    )


def _all_heads(choice: Choice) -> Picture:
    name = f"{choice.block}.{choice.head}"
    return head_grid(
        choice.attention,
        choice.tokens,
        title="All heads; framed: the one of the switches",
        alt=f"A map of attention for each head, blocks as rows; head {name} is framed.",
        note=choice.note,
        mark=[(choice.block, choice.head)],
    )


def _lines(choice: Choice) -> Picture:
    name = f"{choice.block}.{choice.head}"
    return token_lines(
        choice.attention[choice.block, choice.head],
        choice.tokens,
        title=f"Head {name}: “{choice.tokens[choice.token].strip()}” and where it looks",
        alt=f"Lines of head {name} from {choice.tokens[choice.token]!r} to the tokens it looks at.",
        note=choice.note,
        chosen=choice.token,
    )


def _rollout(choice: Choice) -> Picture:
    return heat_map(
        rollout(choice.attention),
        choice.tokens,
        title="Rollout: from which tokens each state comes, all blocks together",
        alt="Heat map; rows are tokens after the last block, columns the tokens they come from.",
        note=choice.note,
        label="share",
        y_label="state",
    )


SWITCHES = ("block", "head", "token")

# For each view, the function that draws it and the controls that apply; the first is the default.
VIEWS: dict[str, tuple[Callable[[Choice], Picture], tuple[str, ...]]] = {
    "one head": (_one_head, ("block", "head")),
    "all heads": (_all_heads, ("block", "head")),
    "lines": (_lines, SWITCHES),
    "from one token": (_from_one_token, ("block", "token")),
    "rollout": (_rollout, ()),
}
# JupyterLab treats letters typed in a menu as its shortcuts unless the menu has this attribute.
OWN_KEYS = (
    "<style onload=\"for (const menu of this.closest('.widget-vbox').querySelectorAll('select'))"
    " menu.setAttribute('data-lm-suppress-shortcuts', 'true')\"></style>"
)


def explore(
    model: Transformer,
    tokenizer: AnyTokenizer,
    text: str,
    *,
    start: tuple[int, int] = (0, 0),
    beside: Mapping[str, tuple[Transformer, AnyTokenizer]] | None = None,
) -> Any:
    """An interactive view of a model's attention, with a choice of text, block, head and view.

    The text is tokenized as in pretraining (with our vocabulary after `<eos>`, normalised); a new
    text takes effect on Enter. `start` is the first block and head, counted from 0. `beside` maps
    the names of further models to each model and its tokenizer. The figure's note states the share
    of attention that goes to a learned prefix. An error is shown in one line, and the last figure
    stays.

    Returns the last expression of the cell: a widget, or the first figure when widgets are off.
    Uses only what ipywidgets 7.7 and 8 share. Raises ValueError for a text without a word, for one
    with more than 128 tokens or more than the model has positions, and for a block or head that the
    model does not have.
    """
    models = {FIRST: (model, tokenizer), **(beside or {})}
    shape = model.config.layers, model.config.heads
    if not all(0 <= index < size for index, size in zip(start, shape, strict=True)):
        raise ValueError(f"expected a block and a head below {shape}, counted from 0, got {start}")
    if widgets_on():
        return _Switches(models, text, start).box
    draw, _ = next(iter(VIEWS.values()))
    return draw(replace(_read(model, tokenizer, text), block=start[0], head=start[1]))


def _read(model: Transformer, tokenizer: AnyTokenizer, text: str) -> Choice:
    """The tokens of a text and the attention of all heads over them."""
    ids = tokenizer.reading.around(tokenizer.read(text))
    most = min(LONGEST, model.config.max_length)
    if len(ids) == tokenizer.reading.size:
        raise ValueError("expected a text, got none; type a sentence")
    if len(ids) > most:
        raise ValueError(f"expected at most {most} tokens, got {len(ids):,}; shorten the text")
    with torch.no_grad(), record(model) as seen:
        model.hidden(torch.tensor([ids], device=model.embedding.weight.device))
    attention = torch.stack(seen.attention)[:, 0].float().cpu().numpy()
    prefix, attention = np.split(attention, [-len(ids)], axis=-1)  # its keys come first
    note = NOTE + PREFIX.format(prefix.sum(axis=-1).mean()) if prefix.size else NOTE
    return Choice(tokenizer.tokens(ids), attention, note, token=len(ids) - 1)


class _Switches:
    """The widgets of `explore`; `box` contains all of them."""

    def __init__(
        self,
        models: Mapping[str, tuple[Transformer, AnyTokenizer]],
        text: str,
        start: tuple[int, int],
    ):
        import ipywidgets

        wide = {"layout": ipywidgets.Layout(width="95%", max_width="672px")}
        slider = {"min": 0, "continuous_update": False}
        self.read = lru_cache(maxsize=8)(lambda name, text: _read(*models[name], text))
        self.text = ipywidgets.Text(text, description="text", continuous_update=False, **wide)
        self.model = ipywidgets.Dropdown(options=list(models), description="model")
        self.view = ipywidgets.Dropdown(options=list(VIEWS), description="view")
        self.block = ipywidgets.IntSlider(start[0], description="block", **slider)
        self.head = ipywidgets.IntSlider(start[1], description="head", **slider)
        self.token = ipywidgets.Dropdown(options=[("", 0)], description="token")
        self.message = ipywidgets.HTML()
        self.picture = ipywidgets.HTML()
        self.tokens: list[str] = []
        self.busy = False
        self.draw()
        controls = [self.text, self.view, self.block, self.head, self.token]
        if len(models) > 1:
            controls.insert(1, self.model)
        for control in controls:
            control.observe(self.changed, names="value")
        self.box = ipywidgets.VBox(
            [*controls, self.message, self.picture, ipywidgets.HTML(OWN_KEYS)]
        )

    def draw(self) -> None:
        """Updates the controls to the current text, then draws the figure."""
        choice = self.read(self.model.value, self.text.value)
        self.block.max, self.head.max = (size - 1 for size in choice.attention.shape[:2])
        if choice.tokens != self.tokens:
            self.tokens = choice.tokens
            self.token.options = [(f"{at}: {token}", at) for at, token in enumerate(choice.tokens)]
            self.token.value = choice.token
        draw, controls = VIEWS[self.view.value]
        for name in SWITCHES:
            getattr(self, name).disabled = name not in controls
        values = {name: getattr(self, name).value for name in SWITCHES}
        self.picture.value = draw(replace(choice, **values)).html()

    def changed(self, _: Any) -> None:
        """Redraws the figure; shows an error in one line, which would otherwise go to a log."""
        if self.busy:  # one control has changed another
            return
        self.busy, message = True, ""
        try:
            self.draw()
        except Exception as error:
            line = str(error).strip().split("\n")[0] or type(error).__name__
            message = f"<b>{html.escape(line)}</b> The picture is still the one before."
        self.message.value = message
        self.busy = False
