"""Is a client's history the one that the log has, as the display or as the model sees it?

Of a long session only the first and the last messages are read, as many as the client's can reach.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from sqlalchemy import Connection

from domain.blobs import blob_of
from infrastructure.blobs import content_of
from infrastructure.reading.files import with_held_files
from infrastructure.reading.moment import Moment
from infrastructure.reading.transcript import extent, page
from projections.comparing.comparison import Comparison, Known, better, compare, needed
from projections.comparing.forms import carries, our_history
from projections.comparing.told import Form, Part, Told
from projections.cuts import cuts_in, whole_part
from projections.transcript import TranscriptMessage
from projections.window import Extent, Window

WHOLE_BYTES: Final = 64 * 2**20


def compared(
    connection: Connection,
    moment: Moment,
    theirs: Sequence[Told],
    form: Form,
    *,
    past: bool = False,
) -> Comparison:
    """Return what comes of comparing a client's history with the session at a moment.

    `past` if its last message is known to be no next input.
    """
    views = [extent(moment, with_archived=True)]
    if moment.summary_version is not None:
        views = [
            Extent(messages=moment.messages, archived=0, summary=False, with_archived=True),
            extent(moment, with_archived=False),
        ]
    reach = needed(theirs)
    found = [
        compare(
            _known(connection, moment, view, reach),
            theirs,
            lambda part, role: carries(form, part, role),
            systems=form != "anthropic",
            past=past,
        )
        for view in views
    ]
    return found[0] if len(found) == 1 else better(*found)


def completed_history(
    connection: Connection, project_id: str, theirs: Sequence[Told]
) -> Sequence[Told]:
    """Return a client's history with all of what a transcript showed it the beginning of.

    Of so much that it would not fit into memory beside everything else, the rest stays cut.
    """
    if not any("blobs" in part for message in theirs for part, _ in message.parts):
        return theirs
    room = WHOLE_BYTES

    def complete(part: Part) -> Part:
        nonlocal room
        cuts = cuts_in(part)
        room -= sum(cut.size for cut in cuts)
        if not cuts or room < 0:
            return part
        contents = {cut.sha256: content_of(connection, project_id, cut.sha256) for cut in cuts}
        return whole_part(part, [blob_of(held) for held in contents.values() if held is not None])

    return [
        replace(message, parts=tuple((complete(part), tokens) for part, tokens in message.parts))
        for message in theirs
    ]


def _known(connection: Connection, moment: Moment, view: Extent, reach: int) -> Known:
    first = our_history(_page(connection, moment, view.after(view.first, reach)))
    if view.end - view.first <= reach:
        return Known(first=first, last=first, total=moment.messages)
    last = our_history(_page(connection, moment, view.before(view.end, reach)))
    return Known(first=first, last=last, total=moment.messages)


def _page(connection: Connection, moment: Moment, window: Window) -> list[TranscriptMessage]:
    """Return the messages, whole; their files are compared by what they are called."""
    shown = page(connection, moment, window)
    return list(with_held_files(connection, moment.target.project_id, shown))
