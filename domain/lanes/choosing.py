"""Which of their earlier sessions does somebody mean?

By its id, or by its title as people type it. Nothing tells of a session that is not among theirs.
"""

from collections.abc import Sequence
from typing import NamedTuple
from unicodedata import normalize

from domain.refusals import AmbiguousSession, NoSuchSession


class Earlier(NamedTuple):
    """A session that may be gone on with."""

    session_id: str
    title: str | None = None


def by_id(earlier: Sequence[Earlier], session_id: str) -> str:
    """Return the session of this id.

    Raises:
        NoSuchSession: it is none of theirs.
    """
    if all(each.session_id != session_id for each in earlier):
        raise NoSuchSession
    return session_id


def by_title(earlier: Sequence[Earlier], title: str) -> str:
    """Return the session that is called so, or else the only one whose title begins so.

    Raises:
        NoSuchSession: none is.
        AmbiguousSession: several are.
    """
    wanted = folded(title)
    called = [(each.session_id, folded(each.title or "")) for each in earlier if each.title]
    same = [session_id for session_id, name in called if name == wanted]
    found = same or [session_id for session_id, name in called if name.startswith(wanted)]
    if not found or not wanted:
        raise NoSuchSession
    if len(found) > 1:
        raise AmbiguousSession(found)
    return found[0]


def folded(title: str) -> str:
    """Return a title as it is compared: without case, and with one space between its words.

    However a keyboard puts its accents together, the letters are the same.

    >>> folded("  The  Garden ")
    'the garden'
    """
    return normalize("NFC", normalize("NFD", " ".join(title.split())).casefold())
