"""When do two transcripts say the same?

Messages, turns and gates are named by chance, and versions count what a harness does: each name is
replaced by the order in which it came, and versions are left out. Everything else is exact.
"""

from collections.abc import Sequence
from typing import Final, cast

from tests.differential.journeys import Json

_NAMES: Final = ("message_id", "turn_id", "gate_id")
_OF_CHANCE: Final = frozenset({"version", "rewind_version"})


def normalised(transcript: Sequence[Json]) -> list[Json]:
    """Return a transcript without what is of chance."""
    known: dict[str, dict[str, str]] = {name: {} for name in _NAMES}

    def of(value: object) -> object:
        if isinstance(value, list):
            return [of(item) for item in cast("list[object]", value)]
        if not isinstance(value, dict):
            return value
        found: Json = {}
        for key, item in cast("dict[str, object]", value).items():
            if key in known and isinstance(item, str):
                found[key] = known[key].setdefault(item, f"{key}-{len(known[key]) + 1}")
            elif key not in _OF_CHANCE:
                found[key] = of(item)
        return found

    return [cast("Json", of(message)) for message in transcript]
