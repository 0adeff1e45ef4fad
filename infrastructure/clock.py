"""What time is it? Asked here and nowhere else; everything else is handed the answer."""

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def now() -> int:
    """Return microseconds since 1970, UTC."""
    return (datetime.now(UTC) - _EPOCH) // _MICROSECOND
