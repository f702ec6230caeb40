"""The course as a web site that also opens from disk, without a network.

    from tlcourse.site import build

    build("site")    # a new folder; open site/index.html

On a command line that is `tlcourse site --out site`. It holds the README, all lessons as they were
executed, their slides, the page with the models, the results, the documents and a reference of the
public names. It needs the optional extra `[site]` and a clone of the repository.
"""

from tlcourse.site.building import build

__all__ = ["build"]
