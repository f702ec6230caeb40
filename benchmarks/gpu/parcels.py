"""Parcels: files in one archive, cut into parts that are small enough to travel alone.

A part is a file `KIND-1-of-5.part`: one line of JSON with its number and the digests of all parts,
then its bytes. So each says by itself whether it is whole, and which others belong to it.
"""

import hashlib
import io
import json
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tlcourse import files

MIB = 2**20
CALL = 64 * MIB  # what travels at once: there the repository and a part, back all of a slice
CHUNK = 12 * MIB  # a part on the way there: a call has room for it beside the repository
PART = 16 * MIB  # a file on the way back
MOST = 8  # files on the way back
HEAD = 8192  # bytes that the first line of a part may take


@dataclass(frozen=True)
class Part:
    """One part of a parcel: what its first line says, and where it lies."""

    path: Path
    kind: str
    number: int  # from 1
    digests: tuple[str, ...]  # sha256 of what each part holds

    @classmethod
    def read(cls, path: Path) -> "Part":
        """Checks a part against its own digest; ValueError that names it where it is damaged."""
        try:
            head, _, content = path.read_bytes().partition(b"\n")
            found = json.loads(head)
            part = cls(path, found["kind"], found["number"], tuple(found["digests"]))
            whole = _digest(content) == part.digests[part.number - 1]
        except (ValueError, KeyError, TypeError, IndexError):
            whole = False
        if not whole:
            raise ValueError(
                f"expected a part as it was packed, but {path} is damaged; fetch that file again"
            )
        return part

    def content(self) -> bytes:
        """What it holds, without the first line."""
        return self.path.read_bytes().partition(b"\n")[2]

    def name_of(self, number: int) -> str:
        """What part `number` of the same parcel is called."""
        return f"{self.kind}-{number}-of-{len(self.digests)}.part"


def wrap(
    kind: str,
    members: Mapping[str, Path],
    folder: Path,
    *,
    size: int,
    method: int = zipfile.ZIP_DEFLATED,
) -> list[Path]:
    """Packs files, by the names they are to have, into parts of at most `size` bytes in `folder`.

    An earlier parcel of that kind is removed from there. `method` is one of `zipfile`'s: ZIP_LZMA
    makes tokens half as large, ZIP_DEFLATED is quick.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob(f"{kind}-*-of-*.part"):
        old.unlink()
    with tempfile.TemporaryFile() as archive:
        with zipfile.ZipFile(archive, "w", method, compresslevel=1) as out:
            for name, path in members.items():
                out.write(path, name)
        archive.seek(0)
        pieces = list(iter(lambda: archive.read(size - HEAD), b""))
    digests = tuple(map(_digest, pieces))
    paths = []
    for number, piece in enumerate(pieces, start=1):
        head = json.dumps({"kind": kind, "number": number, "digests": digests}).encode() + b"\n"
        paths.append(folder / Part(folder, kind, number, digests).name_of(number))
        with files.atomic(paths[-1]) as temporary:
            temporary.write_bytes(head + piece)
    return paths


def receive(part: Part, arriving: Path) -> None:
    """Puts a part beside the others of its parcel; those of another of that kind are removed."""
    for other in arriving.glob(f"{part.kind}-*-of-*.part"):
        if _manifest(other) != list(part.digests):
            other.unlink()
    with files.atomic(arriving / part.name_of(part.number)) as temporary:
        temporary.write_bytes(part.path.read_bytes())


def missing(part: Part, arriving: Path) -> list[str]:
    """The names of the parts of the same parcel that have not been received."""
    names = map(part.name_of, range(1, len(part.digests) + 1))
    return [name for name in names if not (arriving / name).exists()]


def joined(part: Part, arriving: Path) -> zipfile.ZipFile:
    """The archive of a parcel all of whose parts were received; each is checked again."""
    paths = [arriving / part.name_of(n) for n in range(1, len(part.digests) + 1)]
    return zipfile.ZipFile(io.BytesIO(b"".join(Part.read(path).content() for path in paths)))


def _manifest(path: Path) -> list[str]:
    with open(path, "rb") as content:
        return json.loads(content.readline())["digests"]


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
