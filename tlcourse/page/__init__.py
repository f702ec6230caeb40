"""The course's models in a browser: the sources of a static page, and what builds it.

    from tlcourse.page import build

    build("page", ["causal-small"])             # a folder for any static host
    build("page.html", ["causal-small"])        # one file that opens from disk, with no network

The page's engine mirrors the package in JavaScript: `bpe.js`, `attention.js`, `block.js`,
`model.js`, `lora.js`, `generate.js` and `classify.js`, on one matrix kernel (`kernel.wat`).
"""

from tlcourse.page.building import build

__all__ = ["build"]
