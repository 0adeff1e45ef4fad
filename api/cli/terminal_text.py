"""How is text of others shown so that it can do nothing but be read?

A transcript may hold what steers a terminal: escapes, backspaces, marks that reverse the reading
direction. They are shown as signs. What is cut says how much is missing.
"""

import re
from typing import Final

from rich.cells import cell_len

_ACTIVE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
_SPACE: Final = re.compile(r"[\t\n]+")
_DELETE: Final = 0x7F
_PICTURES: Final = 0x2400


def inert(text: str) -> str:
    """Return `text` with everything that steers a terminal as a visible sign.

    >>> inert("a" + chr(27) + "[31mb" + chr(0x202E))
    'a␛[31mb<U+202E>'
    """
    return _ACTIVE.sub(_sign, text).expandtabs(4)


def one_line(text: str) -> str:
    """Return `text` inert and without line ends.

    >>> one_line("a" + chr(10) + "b")
    'a b'
    """
    return inert(_SPACE.sub(" ", text))


def cut(text: str, width: int) -> str:
    """Return one line of at most `width` columns, inert; a cut one says how much is missing.

    >>> cut("a long line that does not fit", 20)
    'a long l…(+21 chars)'
    """
    # Nothing needs more signs than a column each, so what lies far behind is not looked at.
    shown = one_line(text[: width + 1])
    if len(text) <= width and cell_len(shown) <= width:
        return shown
    kept = min(len(text), width)
    while kept > 1 and cell_len(_cut_at(text, kept)) > width:
        kept -= 1
    return _cut_at(text, kept)


def cut_lines(text: str, width: int, lines: int) -> list[str]:
    """Return the first `lines` lines of `text`, each cut; then how much is missing, if anything."""
    found = text.split("\n", lines)
    shown = [cut(line, width) for line in found[:lines]]
    rest = found[lines] if len(found) > lines else ""
    if rest.strip():
        more = rest.rstrip("\n").count("\n") + 1
        shown.append(f"…(+{more:,} {'line' if more == 1 else 'lines'}, {len(rest):,} chars)")
    return shown


def _cut_at(text: str, kept: int) -> str:
    return f"{one_line(text[:kept])}…(+{len(text) - kept:,} chars)"


def _sign(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < ord(" "):
        return chr(_PICTURES + code)
    return "\u2421" if code == _DELETE else f"<U+{code:04X}>"
