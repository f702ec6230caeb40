"""Transfer learning in NLP: the package that the lessons build.

Import it before torch, because OpenMP reads how its threads should wait when it is loaded. By
default libgomp's threads spin, so two trainings on the same cores stall each other many times over;
a short spin costs a single training next to nothing. A setting of your own is kept.

In a notebook it raises ImportError, which says what to install, where a library is missing.
"""

import os
import sys

__version__ = "0.2.0"

SPINS = "1500"
TOO_LATE = "torch" in sys.modules and "GOMP_SPINCOUNT" not in os.environ
if not TOO_LATE:
    os.environ.setdefault("GOMP_SPINCOUNT", SPINS)

if "IPython" in sys.modules:
    from tlcourse import environment

    environment.refuse_missing()
