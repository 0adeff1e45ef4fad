"""How do event ids stand in the tables?

As the 16 bytes of the UUID: text would take 20 more. Whatever a damaged log has there can be
spelt and read as well.
"""


def packed(event_id: str) -> bytes:
    """Return what is stored of an event's id."""
    return bytes.fromhex(event_id.replace("-", ""))


def spelt(stored: bytes) -> str:
    """Return an event's id as it is everywhere but in the tables."""
    digits = stored.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
