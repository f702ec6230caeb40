"""A scheme is a value of four choices; the schemes of the course by name."""

from dataclasses import KW_ONLY, dataclass, field, fields
from typing import Any

from tlcourse.adaptation import edits, extra_losses, groups, schedules
from tlcourse.adaptation.edits import Adapters, Edit, LayerMix, LoRA, Prefixes, Unchanged
from tlcourse.adaptation.extra_losses import L2SP, ExtraLoss, LanguageModelling
from tlcourse.adaptation.groups import (
    AddedOnly,
    ByLayer,
    Everything,
    Grouping,
    HeadOnly,
    Named,
    TopLayers,
)
from tlcourse.adaptation.knobs import by_name, check_choice, from_plain, short, to_plain
from tlcourse.adaptation.schedules import (
    GradualUnfreezing,
    Schedule,
    SlantedTriangular,
    Triangular,
)

CHOICES = {"edit": edits, "groups": groups, "schedule": schedules, "extra_loss": extra_losses}


@dataclass(frozen=True)
class Scheme:
    """A way to adapt: a name and four choices. The defaults are full fine-tuning.

    Two schemes are equal when their choices are; the name does not count, and chooses nothing. A
    plain function may stand in the place of a choice while one tries something; it cannot be saved.
    Raises ValueError for what cannot be a choice.
    """

    name: str = field(default="", compare=False)
    _: KW_ONLY
    edit: Edit = Unchanged()
    groups: Grouping = Everything()
    schedule: Schedule = Triangular()
    extra_loss: ExtraLoss | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise ValueError(
                f"name: expected a text, got {short(self.name)}; write Scheme(edit=..., "
                "groups=..., schedule=..., extra_loss=...)"
            )
        for choice in CHOICES:
            value = getattr(self, choice)
            if value is not None or choice != "extra_loss":
                check_choice(choice, value)
            if isinstance(value, type):
                raise ValueError(
                    f"the knob `{choice}` is the class `{value.__name__}`, whose *values* are such "
                    f"knobs: call it, `{value.__name__}(...)`"
                )
            at = next((c for c, m in CHOICES.items() if type(value).__module__ == m.__name__), None)
            if at not in (choice, None):
                raise ValueError(f"the knob `{choice}` is {short(value)}; write `{at}=` for it")

    def __repr__(self) -> str:
        shown = [each.name for each in fields(self) if each.name != "name" or self.name]
        listed = ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)
        return f"{type(self).__qualname__}({listed})"

    def to_plain(self) -> dict[str, Any]:
        """Name and choices as JSON can hold them; raises ValueError, see `knobs.to_plain`."""
        return {each.name: to_plain(getattr(self, each.name), KNOBS) for each in fields(self)}

    @classmethod
    def from_plain(cls, kept: dict[str, Any], knobs: tuple[type, ...] = ()) -> "Scheme":
        """What `to_plain` gave; `knobs` are classes of one's own.

        A choice of an unknown class comes back as a record of what it was. Raises ValueError when
        fields do not fit.
        """
        known = by_name(knobs, KNOBS)
        try:
            return cls(**{name: from_plain(each, known) for name, each in kept.items()})
        except TypeError as error:
            raise ValueError(
                f"expected the fields {[each.name for each in fields(cls)]} of a scheme, "
                f"got {sorted(kept)}"
            ) from error


def _knobs() -> dict[str, type]:
    """The values that the four modules of knobs define, by name."""
    return {
        name: each
        for module in CHOICES.values()
        for name, each in vars(module).items()
        if isinstance(each, type)
        and each.__module__ == module.__name__
        and hasattr(each, "__dataclass_fields__")
        and "__call__" in vars(each)
    }


KNOBS = _knobs()
FULL = Scheme("full fine-tuning")
SCHEMES = {
    scheme.name: scheme
    for scheme in (
        FULL,
        Scheme("frozen body", groups=HeadOnly()),
        Scheme("mix of layers", edit=LayerMix(), groups=AddedOnly(10.0)),
        Scheme("top 2 layers", groups=TopLayers(2)),
        Scheme("gradual unfreezing", groups=ByLayer(), schedule=GradualUnfreezing(share=0.75)),
        Scheme("discriminative rates", groups=ByLayer(1.5), schedule=SlantedTriangular()),
        Scheme("Houlsby adapters", edit=Adapters(32), groups=AddedOnly(4.0)),
        Scheme("Pfeiffer adapters", edit=Adapters(32, False), groups=AddedOnly(4.0)),
        Scheme("LoRA", edit=LoRA(), groups=AddedOnly(4.0)),
        Scheme("LoRA, all layers", edit=LoRA(layers="all"), groups=AddedOnly(4.0)),
        Scheme("BitFit", groups=Named("bias", factor=4.0)),
        Scheme("prefix tuning", edit=Prefixes(), groups=AddedOnly(10.0)),
        Scheme("L2-SP", extra_loss=L2SP(0.001)),
        Scheme("with the LM loss", extra_loss=LanguageModelling(0.3)),
    )
}
