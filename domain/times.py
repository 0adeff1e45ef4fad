"""How are moments written and read? Microseconds since 1970 inside, RFC 3339 in UTC outside."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

_RFC_3339: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,18})?"
    r"([Zz]|[+-][0-9]{2}:[0-9]{2})"
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_FIRST: Final = (datetime(1, 1, 1, tzinfo=UTC) - _EPOCH) // _MICROSECOND
_LAST: Final = (datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC) - _EPOCH) // _MICROSECOND


def microseconds(text: str | None) -> int | None:
    """Return an RFC 3339 time as microseconds since 1970, or None if it is none.

    A time that UTC writes with another year than one of 1 to 9999 is none: it could not be shown.

    >>> microseconds("1970-01-01T00:00:01.5Z"), microseconds("tomorrow")
    (1500000, None)
    """
    if text is None or _RFC_3339.fullmatch(text) is None:
        return None
    try:
        moment = (datetime.fromisoformat(text.upper()) - _EPOCH) // _MICROSECOND
    except ValueError:
        return None
    return moment if _FIRST <= moment <= _LAST else None


def rfc3339(moment: int) -> str:
    """Return microseconds since 1970 as RFC 3339 in UTC, always with six digits.

    >>> rfc3339(1500000)
    '1970-01-01T00:00:01.500000Z'
    """
    text = (_EPOCH + moment * _MICROSECOND).isoformat(timespec="microseconds")
    return text.replace("+00:00", "Z")
