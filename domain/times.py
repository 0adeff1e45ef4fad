"""How are moments written and read? Microseconds since 1970 inside, RFC 3339 in UTC outside."""

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def microseconds(text: str | None) -> int | None:
    """Return an RFC 3339 time as microseconds since 1970, or None if it is none.

    >>> microseconds("1970-01-01T00:00:01.5Z"), microseconds("tomorrow")
    (1500000, None)
    """
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
        return None if moment.tzinfo is None else (moment - _EPOCH) // _MICROSECOND
    except (ValueError, OverflowError):
        return None


def rfc3339(moment: int) -> str:
    """Return microseconds since 1970 as RFC 3339 in UTC, always with six digits.

    >>> rfc3339(1500000)
    '1970-01-01T00:00:01.500000Z'
    """
    text = (_EPOCH + moment * _MICROSECOND).isoformat(timespec="microseconds")
    return text.replace("+00:00", "Z")
