"""Where do the lines of a foreign transcript come from, and which of them are whole?

A program that still writes may have written half of its last line. Half a line is no line yet:
it is left for the next import, which then finds the earlier lines as they were.
"""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, TypeAlias

from domain.json_text import DEEPEST, NotJson, parse

Items: TypeAlias = Callable[[bytes], list[bytes] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One transcript, read when its turn comes; `name` is what it is called, without a folder."""

    name: str
    read: Callable[[], bytes]
    path: Path | None = None

    def open(self) -> BinaryIO:
        """Return the file, to be read from its beginning and closed.

        Raises:
            OSError: it cannot be read.
        """
        return BytesIO(self.read()) if self.path is None else self.path.open("rb")


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """A transcript's whole lines, without their ends; `cut_off` if half a line follows."""

    lines: tuple[bytes, ...]
    cut_off: bool

    def digests(self, counts: Iterable[int]) -> dict[int, str]:
        """Return, for each count that there are lines for, the SHA-256 of that many lines.

        Each line counts with a newline as its end, whatever end it had.
        """
        wanted = {count for count in counts if 0 <= count <= len(self.lines)}
        digest = sha256()
        found = {0: digest.hexdigest()} if 0 in wanted else {}
        for number, line in enumerate(self.lines[: max(wanted, default=0)], 1):
            digest.update(line + b"\n")
            if number in wanted:
                found[number] = digest.hexdigest()
        return found


def given(name: str, content: bytes) -> Source:
    """Return a transcript whose bytes are at hand."""
    return Source(name=name, read=lambda: content)


def files(paths: Iterable[Path]) -> list[Source]:
    """Return the transcripts at `paths`, and in the folders among them, newest first.

    Raises:
        FileNotFoundError: there is nothing at one of the paths.
    """
    found: dict[Path, tuple[float, Path]] = {}
    for path in paths:
        inside = [path]
        if path.is_dir():
            inside = [file for file in path.rglob("*.jsonl") if file.is_file()]
        found |= {file.resolve(): (-file.stat().st_mtime, file) for file in inside}
    return [
        Source(name=_shown(file.name), read=file.read_bytes, path=file)
        for _, file in sorted(found.values())
    ]


def split(content: bytes, items: Items = lambda _: None) -> Lines:
    """Return the whole lines of a transcript; of one JSON document, what `items` makes of it."""
    made = items(content)
    if made is not None:
        return Lines(lines=tuple(made), cut_off=False)
    *lines, last = content.split(b"\n")
    cut_off = False
    if last.strip():
        cut_off = not _is_json(last)
        lines += [] if cut_off else [last]
    return Lines(lines=tuple(line.removesuffix(b"\r") for line in lines), cut_off=cut_off)


def _is_json(line: bytes) -> bool:
    try:
        parse(line, max_depth=DEEPEST)
    except NotJson as error:
        return error.code not in {"syntax", "invalid-utf8"}
    return True


def _shown(name: str) -> str:
    """Return a file's name as text, whatever bytes it is."""
    return os.fsencode(name).decode("utf-8", "replace")
