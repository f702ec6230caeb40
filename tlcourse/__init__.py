"""Transfer learning in NLP: the package that the lessons build.

Import it before torch: how threads wait for each other is read when OpenMP is loaded. As libgomp
comes, they spin, and two trainings at once on the same cores stall each other many times over; so
few spins cost next to nothing alone (`python -m benchmarks busy`). A setting of your own stays.

In a notebook it raises ImportError, which says what to install, where a library is missing.
"""

import os
import sys

__version__ = "0.1.0"

SPINS = "1500"
TOO_LATE = "torch" in sys.modules and "GOMP_SPINCOUNT" not in os.environ
if not TOO_LATE:
    os.environ.setdefault("GOMP_SPINCOUNT", SPINS)

if "IPython" in sys.modules:
    from tlcourse import environment

    environment.refuse_missing()
