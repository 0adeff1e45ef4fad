"""The transcript: what was said, by the page, around a message, as of any version or time.

Or as a whole, in the form that a provider takes.
"""

from collections.abc import Mapping
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response
from sqlalchemy import Connection

from api.dependencies import KnownTags, Log, Session
from api.paging import DEFAULT_LIMIT, Cursor, Limit, Order, cursor, place_of
from api.problems import Flaw, ProblemError
from api.provider_forms import provider_shape
from api.shapes import Shape
from api.views import When, invalid, now_shape, view, whole_numbers
from domain.identifiers import is_name
from domain.raw_json import RawJson
from infrastructure.reading.moment import Moment
from infrastructure.reading.places import depth_of, find_message
from infrastructure.reading.spawned import with_subagents
from infrastructure.reading.transcript import extent, extent_placed
from infrastructure.reading.transcript_json import page_json
from projections.transcript import summary_id
from projections.window import Extent, Window

router = APIRouter(prefix="/v1/projects/{project_id}/sessions/{session_id}", tags=["transcript"])

LATER = 1
EARLIER = -1


@router.get("/transcript")
async def read_transcript(
    target: Session,
    log: Log,
    known: KnownTags,
    at: When,
    limit: Limit = DEFAULT_LIMIT,
    page_cursor: Annotated[Cursor, Query(alias="cursor")] = None,
    order: Order = "asc",
    include: Annotated[
        list[str] | None,
        Query(
            description="`archived`, `rewound`, with commas between: those messages too. With "
            "`rewound` all that were ever placed come, archived ones too, in the order in which "
            "they were placed. `subagents`: a call that began a sub-agent has its "
            "`subagent_session_id`."
        ),
    ] = None,
    around: Annotated[
        str | None, Query(description="A message id: the page with this message in its middle.")
    ] = None,
    form: Annotated[
        Literal["turnlog", "openai", "anthropic", "ui"],
        Query(
            alias="format",
            description="All but `turnlog` come whole: they cannot be cut into pages. `ui` is "
            "AI SDK UIMessages.",
        ),
    ] = "turnlog",
    attachments: Annotated[
        Literal["inline", "omit"],
        Query(description="Whether a provider's form has the files; what it leaves out is a loss."),
    ] = "inline",
) -> Response:
    """Read what was said.

    A part that shows only the beginning of something has `blobs`: a pointer from the part on, and
    the digest and the size of the whole. Files are named by `sha256`; a provider's form has
    everything whole and in it, but for the files if `attachments=omit`, for which a text stands.
    Results stand where they arrived; in a provider's form each follows its call. A call whose id
    came before in its turn has an `occurrence`, and so has its result. A part whose body is gone is
    `{"type":"missing","reason"}`. Cursors hold on to the version of the first page.

    `index` counts the messages before it: in sight, or of a rewound one, as it was. Where turns
    took the place of others, what each begins with has `alternatives`: the others, the 20 newest
    with the oldest first (`alternatives_more` tells how many are left out). A redo of
    `rewind_version` brings one back; null: it is in sight.
    """
    wanted = _wanted(include)
    with_archived, with_rewound = "archived" in wanted, "rewound" in wanted
    if form != "turnlog":
        if page_cursor is not None or around is not None or wanted:
            raise invalid("a provider's form comes whole, and is what the model sees", "format")
        return await view(
            log,
            target,
            known,
            lambda connection, moment: (
                provider_shape(connection, moment, form, attachments) | now_shape(log, moment)
            ),
            at,
            long=True,
        )
    parameters = {
        "route": "transcript",
        "project": target.project_id,
        "session": target.session_id,
        "order": order,
        "at": at,
        "archived": with_archived,
        "rewound": with_rewound,
    } | ({"subagents": True} if "subagents" in wanted else {})
    pinned = slot = None
    direction = LATER
    if page_cursor is not None:
        if around is not None:
            raise ProblemError("invalid-cursor", "a cursor and `around` name two places")
        pinned, slot, direction = whole_numbers(place_of(page_cursor, parameters, 3))

    def look(connection: Connection, moment: Moment) -> Shape:
        shown = (
            extent_placed(connection, moment)
            if with_rewound
            else extent(moment, with_archived=with_archived)
        )
        if slot is not None:
            window = (shown.after if direction == LATER else shown.before)(slot, limit)
        elif around is not None:
            window = shown.around(_slot(connection, moment, shown, around), limit)
        elif order == "asc":
            window = shown.after(shown.first, limit)
        else:
            window = shown.before(shown.end, limit)
        messages = page_json(connection, moment, window)
        if "subagents" in wanted:
            messages = with_subagents(connection, moment, messages)
        items = ",".join(messages if order == "asc" else messages[::-1])
        return {
            "items": RawJson(f"[{items}]".encode()),
            **_cursors(moment, window, order, parameters),
            **now_shape(log, moment),
        }

    # A sub-agent begins without any change of what is read here.
    tags = frozenset[str]() if "subagents" in wanted else known
    return await view(log, target, tags, look, at, pinned)


def _wanted(include: list[str] | None) -> set[str]:
    wanted = {name for names in include or () for name in names.split(",") if name}
    if not wanted <= {"archived", "rewound", "subagents"}:
        raise invalid("`include` takes `archived`, `rewound` and `subagents`", "include")
    return wanted


def _slot(connection: Connection, moment: Moment, shown: Extent, message_id: str) -> int:
    if shown.summary and message_id == summary_id(moment.summary_version or 0):
        return shown.archived
    index = find_message(connection, moment, message_id) if is_name(message_id) else None
    if index is None:
        raise _no_such("the session had no message of this id")
    if not shown.with_rewound:
        index = depth_of(connection, moment, index)
    if index is None:
        raise _no_such("the message is rewound; ask with include=rewound")
    if shown.slot(index) < shown.first:
        raise _no_such("the message is archived; ask with include=archived")
    return shown.slot(index)


def _no_such(detail: str) -> ProblemError:
    return ProblemError("no-such-message", detail, flaws=[Flaw(detail, ("query", "around"))])


def _cursors(
    moment: Moment, window: Window, order: Order, parameters: Mapping[str, object]
) -> Shape:
    """Return cursors that hold on to the version of this page, however the session grows."""
    later = None if window.ends else cursor([moment.through, window.high, LATER], parameters)
    earlier = None if window.starts else cursor([moment.through, window.low, EARLIER], parameters)
    following, previous = (later, earlier) if order == "asc" else (earlier, later)
    return {"next_cursor": following, "previous_cursor": previous}
