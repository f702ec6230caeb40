"""`python -m tlcourse` is the command `tlcourse`."""

import sys

from tlcourse.cli import main

sys.exit(main())
