"""The schemes of the course: each is four choices, and a new one is a line."""

from collections.abc import Iterable

from tlcourse.adaptation import edits, extra_losses, groups, schedules
from tlcourse.adaptation.adapting import FULL, Scheme

SLANTED = schedules.slanted_triangular()

SCHEMES = {
    scheme.name: scheme
    for scheme in (
        FULL,
        Scheme("frozen body", groups=groups.head_only),
        Scheme("mix of layers", edits.layer_mix, groups.added_only(10.0)),
        Scheme("top 2 layers", groups=groups.top_layers(2)),
        Scheme(
            "gradual unfreezing",
            groups=groups.by_layer(),
            schedule=schedules.gradual_unfreezing(schedules.triangular()),
        ),
        Scheme("discriminative rates", groups=groups.by_layer(1.5), schedule=SLANTED),
        Scheme("Houlsby adapters", edits.adapters(32), groups.added_only(4.0)),
        Scheme("Pfeiffer adapters", edits.adapters(32, False), groups.added_only(4.0)),
        Scheme("LoRA", edits.lora(), groups.added_only(4.0)),
        Scheme("BitFit", groups=groups.named("bias", factor=4.0)),
        Scheme("prefix tuning", edits.prefixes(), groups.added_only(10.0)),
        Scheme("L2-SP", extra_loss=extra_losses.l2_sp()),
        Scheme("with the LM loss", extra_loss=extra_losses.language_modelling()),
    )
}


def slug(name: str) -> str:
    """A name as it is typed on a command line: "full fine-tuning" is full-fine-tuning."""
    return name.lower().replace(" ", "-")


def find(asked: str, names: Iterable[str], what: str) -> str:
    """The one of `names` that is typed as `asked`; raises ValueError that lists them."""
    slugs = {slug(name): name for name in names}
    if slug(asked) not in slugs:
        raise ValueError(f"expected a {what} out of {', '.join(slugs)}, got {asked!r}")
    return slugs[slug(asked)]
