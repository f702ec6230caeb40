"""Settings of every test run: lessons run at size tiny, without widgets, without the network."""

import os
from pathlib import Path

os.environ.setdefault("TLCOURSE_SIZE", "tiny")
os.environ.setdefault("OMP_NUM_THREADS", str(min(2, os.cpu_count() or 1)))
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ["TLCOURSE_WIDGETS"] = "off"
if os.environ.get("TLCOURSE_DATA"):  # notebooks run in their own folder
    os.environ["TLCOURSE_DATA"] = str(Path(os.environ["TLCOURSE_DATA"]).resolve())
