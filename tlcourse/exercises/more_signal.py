"""The exercises of lesson 06: a language-model loss to mend, guesses to believe, soft targets."""

from torch.nn import functional as F

from tlcourse.exercises import distillation_checks, guesses_checks, language_loss_checks
from tlcourse.exercises.machinery import Exercise, Stage


def language_loss(logits, tokens, mask):
    """(batch, length, vocabulary), (batch, length) ids and mask to the mean nats a target."""
    targets = tokens[:, 1:].masked_fill(~mask[:, 1:], -100)
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), targets.flatten(), ignore_index=-100)


def language_loss_as_given(logits, tokens, mask):
    """What the lesson hands out: three bugs, in the classes, the targets and the pads."""
    vocabulary = logits.shape[-1]
    scores = logits.transpose(1, 2)  # (batch, classes, length), as F.cross_entropy likes it
    return F.cross_entropy(scores.reshape(-1, vocabulary), tokens.flatten())


def choose_guesses(probabilities, least, most):
    """(texts, labels) probabilities to the rows to believe, a list, the most certain first."""
    sure, guesses = probabilities.max(dim=-1)
    rows, taken = [], [0] * probabilities.shape[1]
    for row in sure.argsort(descending=True, stable=True).tolist():
        label = int(guesses[row])
        if sure[row] >= least and taken[label] < most:
            taken[label] += 1
            rows.append(row)
    return rows


def distillation_loss(logits, teacher, temperature):
    """(batch, labels) logits of student and teacher to the mean soft cross-entropy, times T²."""
    targets = (teacher / temperature).softmax(dim=-1)
    nats = -(targets * (logits / temperature).log_softmax(dim=-1)).sum(dim=-1)
    return nats.mean() * temperature**2


EXERCISES = (
    Exercise(
        id="more_signal.language_loss",
        title="Find the bugs in the second task's loss",
        difficulty=3,
        minutes=15,
        hints=(
            "three questions, one after the other: whose scores does a row of `scores.reshape(-1, "
            "vocabulary)` hold? Which token should position 3 predict? And where is `mask` used?",
            "`logits` has the classes last already: `logits.flatten(0, 1)` joins texts and "
            "positions and leaves them there. Flattening after a transpose mixes them.",
            "position t predicts token t + 1: `logits[:, :-1]` belongs to `tokens[:, 1:]`, and to "
            "`mask[:, 1:]`.",
            "`tokens[:, 1:].masked_fill(~mask[:, 1:], -100)`: `F.cross_entropy(..., "
            "ignore_index=-100)` leaves such targets out of the sum and out of the count.",
        ),
        reference=language_loss,
        stages=(
            Stage("one number to learn from", language_loss_checks.number),
            Stage("the classes", language_loss_checks.classes),
            Stage("the next token", language_loss_checks.shift),
            Stage("pads", language_loss_checks.pads),
            Stage("20 random batches", language_loss_checks.whole),
        ),
        given=language_loss_as_given,
    ),
    Exercise(
        id="more_signal.choose_guesses",
        title="Which guesses to believe",
        difficulty=2,
        minutes=15,
        hints=(
            "`sure, guesses = probabilities.max(dim=-1)`: how sure, and of which label. From here "
            "on it is a queue and a counter for each label.",
            "the queue: `sure.argsort(descending=True, stable=True)`. Only a stable sort leaves "
            "equals in the order of their rows.",
            "walk through the queue: is it sure enough, and is there room for its label? Then "
            "count it and append its row.",
        ),
        reference=choose_guesses,
        stages=(
            Stage("rows", guesses_checks.kinds),
            Stage("sure enough", guesses_checks.enough),
            Stage("at most so many of a label", guesses_checks.room),
            Stage("equals", guesses_checks.equals),
            Stage("50 random tables", guesses_checks.whole),
        ),
    ),
    Exercise(
        id="more_signal.distillation_loss",
        title="Soft targets and a temperature",
        difficulty=2,
        minutes=15,
        hints=(
            "first without a temperature: the targets are `teacher.softmax(dim=-1)`, and the "
            "cross-entropy of a text is minus the sum over labels of target times "
            "`logits.log_softmax(dim=-1)`.",
            "the temperature divides both kinds of logits, before either softmax.",
            "the mean over the texts, times `temperature**2`.",
        ),
        reference=distillation_loss,
        stages=(
            Stage("one number to learn from", distillation_checks.number),
            Stage("soft targets", distillation_checks.soft),
            Stage("a temperature on both sides", distillation_checks.temperature),
            Stage("times T squared", distillation_checks.squared),
            Stage("20 random batches", distillation_checks.whole),
        ),
    ),
)
