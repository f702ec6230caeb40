"""A rented GPU, used well in half an hour: `python -m benchmarks gpu COMMAND`.

The GPU stands in a machine that is bare and has no network, that takes a limited number of bytes
with each call beside the repository and gives a few small files back, that runs a command for
minutes only, and that may be gone seconds after it. `benchmarks.gpu.parcels` has these limits as
constants. So what travels are parcels, cut into parts that each say what they are; and a plan is
worked off in slices, each of which hands back all that it takes to go on elsewhere.

    pack --to DIR          where the data are: cuts the prepared data into parts
    take --from PART       on the GPU's machine: takes one part; joins them when the last is there
    slice --minutes 8 --out DIR    there: the next things of the plan, and what is to be handed back
    home --from DIR        where the data are: checks and joins what came back
    pack --state --to DIR  there, too: how far the plan is, for the next machine

Each command may be repeated: what is done already is not done again.
The plan (`benchmarks.gpu.plan`): the tests on CUDA; our steps against Hugging Face's; a causal
model, on windows of 64 tokens and then, while the learning rates fall to 0, of 256; a masked one
that goes on from it; at last a model of the 2019 tutorial's shape. Everything lies in `runs/gpu`;
the rows of what was measured go to `benchmarks/results/gpu.json`. With `TLCOURSE_SIZE=tiny` the
whole plan is rehearsed on a CPU in minutes, in `runs/gpu-tiny`.
"""
