"""Schemes, which are values made of four choices, and the course's schemes by name."""

from collections.abc import Mapping, Sequence
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
from tlcourse.adaptation.knobs import Adaptable, by_name, check_choice, from_plain, short, to_plain
from tlcourse.adaptation.schedules import GradualUnfreezing, Schedule, SlantedTriangular, Triangular

CHOICES = {"edit": edits, "groups": groups, "schedule": schedules, "extra_loss": extra_losses}


@dataclass(frozen=True)
class Scheme:
    """A way to adapt: a name and four choices. The defaults are full fine-tuning.

    Two schemes are equal if their choices are; the name is only a label. A choice may also be a
    plain function, for experiments, but such a scheme cannot be saved. Raises ValueError for a
    value that cannot be the choice.
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
            module = type(value).__module__
            home = next((c for c, knobs in CHOICES.items() if module == knobs.__name__), None)
            if home not in (choice, None):
                raise ValueError(f"the knob `{choice}` is {short(value)}; write `{home}=` for it")

    def __repr__(self) -> str:
        shown = [field.name for field in fields(self) if field.name != "name" or self.name]
        listed = ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)
        return f"{type(self).__qualname__}({listed})"

    def rates(
        self, classifier: Adaptable, steps: int, added: Sequence[str] = ()
    ) -> tuple[list[str], list[list[float]]]:
        """Returns the groups' names, and (groups, steps) factors of the recipe's learning rate."""
        groups = self.groups(classifier, added)
        factors = self.schedule(steps, list(groups))
        now = [factors(step) for step in range(steps)]
        return list(groups), [
            [group.factor * (each[name] if isinstance(each, Mapping) else each) for each in now]
            for name, group in groups.items()
        ]

    def to_plain(self) -> dict[str, Any]:
        """Returns name and choices as JSON can hold them.

        Raises ValueError that names the choice, for the reasons that `knobs.to_plain` lists.
        """
        plain = {}
        for choice in ("name", *CHOICES):
            try:
                plain[choice] = to_plain(getattr(self, choice), KNOBS)
            except ValueError as error:
                raise ValueError(f"the knob `{choice}`: {error}") from None
        return plain

    @classmethod
    def from_plain(cls, kept: dict[str, Any], knobs: tuple[type, ...] = ()) -> "Scheme":
        """Returns the scheme of which `to_plain` made `kept`.

        `knobs` are the classes of its choices that are not the course's; a choice of any other
        class becomes a `Record`. Raises ValueError if the fields do not fit.
        """
        known = by_name(knobs, KNOBS)
        try:
            return cls(**{name: from_plain(value, known) for name, value in kept.items()})
        except TypeError as error:
            raise ValueError(
                f"expected the fields {[field.name for field in fields(cls)]} of a scheme, "
                f"got {sorted(kept)}"
            ) from error


def _knobs() -> dict[str, type]:
    """Returns the classes of the knobs that the four modules define, by name."""
    return {
        name: value
        for module in CHOICES.values()
        for name, value in vars(module).items()
        if isinstance(value, type)
        and value.__module__ == module.__name__
        and hasattr(value, "__dataclass_fields__")
        and "__call__" in vars(value)
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
