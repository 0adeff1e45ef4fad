"""In which pieces is a long answer sent?"""

from collections.abc import Iterable, Iterator
from typing import Final

CHUNK: Final = 64 * 1024


def chunks(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines in larger pieces: each piece costs a hop between threads."""
    held: list[bytes] = []
    size = 0
    for line in lines:
        held.append(line)
        size += len(line)
        if size >= CHUNK:
            yield b"".join(held)
            held, size = [], 0
    yield b"".join(held)
