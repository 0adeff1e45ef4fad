"""What do requests say that have a lane do something?"""

from typing import Annotated

from pydantic import Field, StrictBool, StrictInt, StrictStr

from api.body import Body
from api.history_bodies import InterruptFirst
from api.lane_bodies import BeginningBody, SourceField
from api.lane_commanding import MessageId
from api.problems import Flaw, ProblemError
from infrastructure.lanes.changing import Named

Interrupt = Annotated[
    StrictBool,
    Field(
        description="Whether a turn that runs is interrupted; else it is 409 `turn-in-progress`."
    ),
]


class ResetBody(Body):
    """A new conversation."""

    interrupt: Interrupt = True
    open: Annotated[
        BeginningBody | None,
        Field(description="What the new session begins with; else it is as the one before."),
    ] = None
    message_id: MessageId = None


class ReasonBody(Body):
    """Why."""

    reason: Annotated[StrictStr, Field(description="A word or two; it is recorded.")]
    message_id: MessageId = None


class LaneChangeBody(Body):
    """What is to be so of the lane."""

    pinned: Annotated[StrictBool, Field(description="Whether it is kept, however long it rests.")]


class MoveBody(Body):
    """Where the conversation goes on."""

    source: SourceField
    follow: Annotated[
        StrictBool, Field(description="Whether what still comes to the old place goes there too.")
    ] = True
    message_id: MessageId = None


class SwitchBody(Body):
    """Which earlier session goes on: one of `session_id` and `title`."""

    session_id: Annotated[StrictStr | None, Field(description="Its id.")] = None
    title: Annotated[
        StrictStr | None,
        Field(description="Its title, or how that begins; in any case of its letters."),
    ] = None
    interrupt: Interrupt = True
    message_id: MessageId = None

    def named(self) -> Named:
        """Return which session is meant.

        Raises:
            ProblemError: it is named not once.
        """
        if (self.session_id is None) == (self.title is None):
            detail = "name one of session_id and title"
            raise ProblemError("invalid-value", detail, flaws=[Flaw(detail, ())])
        return Named(session_id=self.session_id, title=self.title)


class BranchBody(Body):
    """Where the branch begins, and where it goes on."""

    title: Annotated[
        StrictStr | None,
        Field(description="The branch's title; the session's own with a number, if none is given."),
    ] = None
    at_turn: Annotated[
        StrictStr | None, Field(description="The last turn that it shares; the newest, if absent.")
    ] = None
    here: Annotated[
        StrictBool,
        Field(description="Whether it goes on in this lane; without a `source` it does."),
    ] = True
    source: Annotated[
        SourceField | None,
        Field(description="Where it goes on, as in a new thread; this lane stays as it is."),
    ] = None
    message_id: MessageId = None

    def check(self) -> None:
        """Raise unless the branch goes on somewhere.

        Raises:
            ProblemError: it does nowhere.
        """
        if not self.here and self.source is None:
            detail = "name the source of the place where the branch goes on, or let it be here"
            raise ProblemError("invalid-value", detail, flaws=[Flaw(detail, ("here",))])


class StopBody(Body):
    """Why the turn is stopped."""

    reason: Annotated[StrictStr, Field(min_length=1, max_length=256)] = "cancelled"
    message_id: MessageId = None


class UndoBody(Body):
    """How many turns go out of sight."""

    turns: Annotated[
        StrictInt, Field(description="So many, or all there are; less than one counts as one.")
    ] = 1
    interrupt: InterruptFirst = False
    message_id: MessageId = None


class LaneRedoBody(Body):
    """What comes back in sight."""

    rewind_version: Annotated[
        StrictInt | None,
        Field(ge=1, le=2**31 - 1, description="A rewind's; the newest one's, if absent."),
    ] = None
    interrupt: InterruptFirst = False
    message_id: MessageId = None


class RetryBody(Body):
    """Whether it is said again although a turn runs."""

    interrupt: InterruptFirst = False
    message_id: MessageId = None
