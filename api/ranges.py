"""Which bytes does a `Range` header ask for? RFC 9110, section 14, one range."""

import re
from dataclasses import dataclass
from typing import Final

_RANGE: Final = re.compile(
    r"(?i:bytes)=[ \t]*(?:(\d{1,18})-(\d{1,18})?|-(\d{1,18}))[ \t]*", re.ASCII
)


class Unsatisfiable(Exception):
    """There is no byte in what is asked for."""


@dataclass(frozen=True, slots=True)
class ByteRange:
    """Bytes from `start` to before `end`."""

    start: int
    end: int

    @property
    def length(self) -> int:
        """Return how many they are."""
        return self.end - self.start


def byte_range(header: str | None, size: int) -> ByteRange | None:
    """Return the range that is asked for; None for all, also where the header cannot be read.

    Several ranges at once are answered with everything, as the standard allows.

    Raises:
        Unsatisfiable: it lies beyond the end, or is empty.
    """
    match = _RANGE.fullmatch(header or "")
    if match is None:
        return None
    first, last, suffix = match.groups()
    if suffix is not None:
        start, end = max(0, size - int(suffix)), size
    else:
        start = int(first)
        end = size if last is None else min(size, int(last) + 1)
        if last is not None and int(last) < start:
            return None
    if start >= size:
        raise Unsatisfiable
    return ByteRange(start, end)
