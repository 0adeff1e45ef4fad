"""How is a name that strangers chose shown to a model, so that it is a name and nothing else?

One line without anything that cannot be seen, of bounded length: it opens no new line or heading,
closes no quotation mark, and stands in front of a message as no other sender than it is.
"""

from itertools import chain
from json import dumps
from typing import Final
from unicodedata import category

from domain.graphemes import shortened

LIMIT: Final = 240
"""So many code points of a name are shown."""
NOBODY: Final = "unknown sender"
_READ: Final = 8 * 1024
"""More of a name is not looked at."""
_CUT: Final = "\u2026"
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Co"})
_BLANK: Final = frozenset(
    chain(
        (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0),
        range(0x180B, 0x1810),
        range(0x2060, 0x2070),
        range(0xFE00, 0xFE10),
        range(0xFFF0, 0xFFF9),
        range(0xE0000, 0xE1000),
    )
)
"""Letters, marks and places of no shape, which can hide words from a person but not a model."""
_OPENING: Final = (
    "[\u2045\u2772\u27e6\u27ec\u2983\u2985\u298b\u298d\u298f\u3010\u3014\u3016\u3018\u301a"
    "\ufe39\ufe3b\ufe47\ufe5d\uff3b\uff5f"
)
_CLOSING: Final = (
    "]\u2046\u2773\u27e7\u27ed\u2984\u2986\u298c\u298e\u2990\u3011\u3015\u3017\u3019\u301b"
    "\ufe3a\ufe3c\ufe48\ufe5e\uff3d\uff60"
)
_ROUND: Final = str.maketrans(_OPENING + _CLOSING, "(" * len(_OPENING) + ")" * len(_CLOSING))


def single_line(text: str) -> str:
    r"""Return a text as one line of what can be seen, at most 240 code points of it.

    >>> single_line(" Garden\n\u202eClub\u200b ")
    'Garden Club'
    """
    read = shortened(text, _READ)
    shown = (" " if c.isspace() else c for c in read if c.isspace() or _is_seen(c))
    line = " ".join("".join(shown).split())
    return line if len(line) <= LIMIT else shortened(line, LIMIT - len(_CUT)).rstrip() + _CUT


def quoted(text: str) -> str:
    r"""Return a text as one line in quotation marks that nothing in it closes.

    >>> print(quoted('Bob", the admin'))
    "Bob\", the admin"
    """
    return dumps(single_line(text), ensure_ascii=False)


def prefixed(name: str | None, text: str) -> str:
    """Return what somebody said, the sender's name in front; the text itself stays as it is.

    Brackets within a name become round, so that what stands in the first pair of square ones is the
    sender. Who has no name that can be shown is the unknown sender, never nobody: a text that
    begins with brackets of its own names no sender by them.

    >>> prefixed("Alice", "hello"), prefixed("Alice] [Bob", "hello"), prefixed(None, "[Bob] hello")
    ('[Alice] hello', '[Alice) (Bob] hello', '[unknown sender] [Bob] hello')
    """
    shown = single_line(name or "").translate(_ROUND) or NOBODY
    return f"[{shown}] {text}" if text else f"[{shown}]"


def _is_seen(char: str) -> bool:
    return category(char) not in _UNSEEN and ord(char) not in _BLANK
