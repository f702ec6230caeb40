"""What probes find in a released model: some of the questions of `probing`, on the same sentences.

all-MiniLM-L6-v2 is asked by the probes of `python -m benchmarks probing` for the tasks of ASKED and
for trees, in every layer, beside a model of its shape and vocabulary that has read nothing. Its
states are wider than those of our models (384 numbers, not 256), which a linear probe may use. Its
layer 0 is a sum of word and position, normalised, where ours is the word alone.

In pairs, as `probing_pairs`: MiniLM against causal-small on the same items, and against its own
layer 0, in the layer of that study. Finished probes are kept in `runs/probing/`.
"""

from benchmarks import runner
from benchmarks.studies import probing_pairs
from benchmarks.studies.probing import MOST, RANDOM, TASKS, TREES, Job, sentences, vectors
from benchmarks.studies.probing_pairs import CAUSAL, LAYER
from benchmarks.studies.released import MODEL
from tlcourse import checkpoints, sizes

CORPUS = "ud-english-ewt"
ASKED = ("part of speech", "relation")
PAIRS = {  # as in `probing_pairs`
    "layers": ((MODEL, LAYER), (MODEL, 0)),
    "released": ((MODEL, LAYER), (CAUSAL, LAYER)),
}


def measure() -> dict:
    """A row a task, model and layer; one a task and pair."""
    most = MOST[sizes.current().name]
    layers = len(checkpoints.load(MODEL)[0].blocks) + 1
    readers = (MODEL, f"{RANDOM} {MODEL}")
    for reader in (*readers, CAUSAL):
        vectors(CORPUS, most, (reader, 0))  # once, before all of them want it
    train, test = sentences(CORPUS, most)
    pairs = runner.run_all(
        probing_pairs.Job(task, pair, *two, most) for task in ASKED for pair, two in PAIRS.items()
    )
    rows = runner.run_all(
        Job(task, reader, layer, most)
        for reader in readers
        for task in (TREES, *ASKED)
        for layer in range(layers)
    )
    return {
        "job": "probing_released",
        **runner.provenance(
            f"{CORPUS}, {len(train)} and {len(test)} sentences", runs=rows, note=runner.pooled()
        ),
        "kinds": {task: list(TASKS[task][:2]) for task in ASKED},
        "layer": LAYER,
        "rows": rows,
        "pairs": [{key: row[key] for key in ("task", "pair", "right", "gain")} for row in pairs],
    }
