"""The course's models in a browser: the sources of a static page, and its build.

    from tlcourse.page import build

    build("page", ["causal-small", "trec-lora"])    # a folder for any static host
    build("page.html", ["causal-small"])            # one file that opens from disk, offline

On a command line that is `tlcourse page --out page.html`. The page's engine mirrors the package in
JavaScript: `bpe.js`, `attention.js`, `block.js`, `model.js`, `lora.js`, `generate.js` and
`classify.js`, on one matrix kernel (`kernel.wat`). What a model makes of a text is a reading
(`reading.js`), and a room (`room_*.js`) shows it; `page.js` holds the rooms together. `packing`
describes the form in which a page has the files of its models.
"""

from tlcourse.page.building import build

__all__ = ["build"]
