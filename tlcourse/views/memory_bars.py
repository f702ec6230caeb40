"""What takes the memory of a training step: stacked bars, a row a scheme."""

from collections.abc import Mapping

from tlcourse.views.style import CYCLE, Picture, figure, finish, ink_on, label_axes, text_width


def memory_bars(
    held: Mapping[str, Mapping[str, float]],
    *,
    title: str = "",
    alt: str = "",
    note: str | None = None,
) -> Picture:
    """A row for each scheme: the MiB of each kind side by side, and the sum at the end.

    `held` maps a name to kinds and their MiB; all names have the same kinds, which are named above
    the first row. Raises ValueError for no row, for kinds that differ, and without title.
    """
    kinds = list(next(iter(held.values()), {}))
    if not kinds or any(list(each) != kinds for each in held.values()):
        raise ValueError(f"expected the same kinds of memory in every row, got {dict(held)}")
    picture, axes = figure(title, 1.55 + 0.36 * len(held))
    colours = dict(zip(kinds, CYCLE, strict=False))
    most = max(sum(each.values()) for each in held.values())
    for row, each in enumerate(held.values()):
        left = 0.0
        for kind, size in each.items():
            axes.barh(row, size, left=left, height=0.66, color=colours[kind], ec="white", lw=0.8)
            text = f"{size:.0f}"
            if 4.2 * size / most > text_width(text, 9) + 0.08:  # about as wide as the axes
                axes.text(
                    left + size / 2, row, text, ha="center", va="center_baseline", fontsize=9,
                    color=ink_on(colours[kind]),
                )  # fmt: skip
            left += size
        axes.text(left + 0.012 * most, row, f"{left:.0f}", va="center", fontweight="bold")
    axes.set_yticks(range(len(held)), list(held))
    axes.set_ylim(len(held) - 0.5, -0.5)
    axes.set_xlim(0, 1.12 * most)
    axes.grid(False, axis="y")
    axes.tick_params(axis="y", length=0)
    label_axes(axes, x="memory of one training step (MiB)")
    axes.legend(
        [axes.patches[place] for place in range(len(kinds))], kinds, loc="lower left",
        bbox_to_anchor=(0, 1), borderaxespad=0, ncols=len(kinds), frameon=False,
        handlelength=1.0, columnspacing=1.4,
    )  # fmt: skip
    told = "; ".join(
        f"{name}: " + ", ".join(f"{kind} {size:.0f}" for kind, size in each.items())
        for name, each in held.items()
    )
    return finish(picture, alt or f"MiB of one training step. {told}", note)
