"""The one training loop, on an Ignite engine: pretraining, fine-tuning and probes all use it.

Batch k depends on the seed and k alone, and so does its dropout, given the rank of the process.
Therefore an interrupted run that is resumed from its last state ends with the same weights, bit for
bit, and several processes, each with its slice of the batch, do the work of one.

    import tempfile
    import torch
    from tlcourse.training import Resume, Trainer, train, warmup_stable_decay

    def loss(model, batch):                     # a sum of nats, and over how many targets
        inputs, labels = batch
        return torch.nn.functional.cross_entropy(model(inputs), labels, reduction="sum"), 8

    model = torch.nn.Linear(4, 3)
    batches = [(torch.randn(8, 4), torch.randint(3, (8,))) for _ in range(5)]
    history = train(model, loss, batches)       # one record per step; the rest has defaults

    with tempfile.TemporaryDirectory() as folder:
        history = train(
            model, loss, batches, steps=20,
            optimizers=[torch.optim.SGD(model.parameters(), lr=0.1)],
            schedule=warmup_stable_decay(20, warmup=2, decay=0.4),
            resume=Resume(folder),              # after an interrupt, the same call resumes
        )
    engine = Trainer(model, loss, batches)      # Ignite's engine, for handlers of your own
    engine.run()
"""

from typing import Any

from tlcourse.training.resuming import STATE, Resume, steps_in
from tlcourse.training.schedule import warmup_stable_decay

__all__ = ["STATE", "Resume", "Trainer", "steps_in", "train", "warmup_stable_decay"]


def __getattr__(name: str) -> Any:
    """Returns the engine, which is imported on first use, since Ignite takes seconds to import."""
    if name not in ("Trainer", "train"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tlcourse.training import engine

    return getattr(engine, name)
