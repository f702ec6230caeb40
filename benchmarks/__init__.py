"""Timings against what a user would pick instead, and studies: `python -m benchmarks NAME`.

What a study runs, what it keeps of that and what its rows rest on is written once, in
`benchmarks.runner`: jobs under keys, kept results, the pool of processes, clocks, provenance.
"""

import tlcourse  # noqa: F401  (before torch: it says how threads wait for each other)
