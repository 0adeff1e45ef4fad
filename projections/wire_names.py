"""How are calls, tools and people named where only some names are taken?

Each rule gives the same name in every export, however much was said in between.
"""

import re
from hashlib import sha256
from typing import Final

NAME_LIMIT: Final = 64
_OTHER: Final = re.compile(r"[^A-Za-z0-9_-]")


class WireIds:
    """Call ids that are unique in one export: the first keeps its id, the next is `<id>~2`.

    `mark` stands between the id and its number, where `~` is not taken.
    """

    def __init__(self, mark: str = "~") -> None:
        self._mark: Final = mark
        self._taken: Final[set[str]] = set()
        self._last: Final[dict[str, int]] = {}

    def take(self, tool_call_id: str) -> str:
        """Return an id that nobody has, and keep it."""
        number = self._last.get(tool_call_id, 0) + 1
        wire = tool_call_id if number == 1 else f"{tool_call_id}{self._mark}{number}"
        while wire in self._taken:
            number += 1
            wire = f"{tool_call_id}{self._mark}{number}"
        self._last[tool_call_id] = number
        self._taken.add(wire)
        return wire


def person_name(subject_id: str) -> str:
    """Return a participant's name: letters, digits, `_` and `-`, at most 64.

    An id that has to be changed gets a digest, so that no two people share a name.

    >>> person_name("u1"), person_name("ann@example.org")
    ('u1', 'ann_example_org_438c4c7a')
    """
    name = plain_name(subject_id)
    if name == subject_id:
        return name
    return f"{name[: NAME_LIMIT - 9]}_{sha256(subject_id.encode()).hexdigest()[:8]}"


def plain_name(text: str) -> str:
    """Return `text` with `_` for every character that a function's name may not have.

    >>> plain_name("mcp.read file")
    'mcp_read_file'
    """
    return _OTHER.sub("_", text)[:NAME_LIMIT] or "_"
