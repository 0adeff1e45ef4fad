"""Which of the media types that we have does a caller want? RFC 9110, section 12.5.1."""

import re
from collections.abc import Sequence
from typing import Final

_WEIGHT: Final = re.compile(r"q=([01](?:\.[0-9]{0,3})?)", re.ASCII | re.IGNORECASE)


def preferred(accept: str, offered: Sequence[str]) -> str:
    """Return the media type of `offered` that is wanted most; the first, if it is all the same.

    Whoever wants none of them gets the first: it is more use than an error.

    >>> preferred("text/html, text/csv;q=0.9, */*;q=0.1", ["application/json", "text/csv"])
    'text/csv'
    """
    weights = dict(filter(None, map(_weight, accept.lower().split(","))))

    def weight(media: str) -> float:
        names = (media, f"{media.partition('/')[0]}/*", "*/*")
        return next((weights[name] for name in names if name in weights), 0.0)

    return max(offered, key=weight)


def _weight(part: str) -> tuple[str, float] | None:
    name, *parameters = (token.strip() for token in part.split(";"))
    found = next((match for p in parameters if (match := _WEIGHT.fullmatch(p))), None)
    return (name, float(found[1]) if found else 1.0) if name else None
