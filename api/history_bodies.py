"""What do requests about going back say, and what do they believe the newest history to be?"""

from typing import Annotated, Final

from pydantic import Field, StrictBool, StrictInt, StrictStr

from api.body import Body
from api.problems import Flaw, ProblemError
from domain import commands as c
from domain.canonical import canonical
from domain.fields import COUNT_LIMIT
from domain.raw_json import RawJson
from domain.rewinding import ONE_TARGET

TARGETS: Final = ("turns", "to_turn", "before_message", "to_version")
InterruptFirst = Annotated[
    StrictBool, Field(description="Whether a turn that runs is interrupted for it.")
]
DryRun = Annotated[
    StrictBool, Field(description="Whether nothing is done, only what it would do is told.")
]


class HeadBody(Body):
    """The history that the caller believes to be the newest."""

    history_version: Annotated[StrictInt, Field(ge=0)]
    fingerprint: Annotated[StrictStr, Field(pattern="^[0-9a-f]{64}$")]
    version: StrictInt | None = None
    hash: StrictStr | None = None

    def claim(self) -> c.HeadClaim:
        """Return what the rules compare with the log's head."""
        return c.HeadClaim(history_version=self.history_version, fingerprint=self.fingerprint)


class RewindFields(Body):
    """Which turns go: exactly one of `turns`, `to_turn`, `before_message` and `to_version`."""

    turns: Annotated[
        StrictInt | None, Field(ge=1, le=COUNT_LIMIT - 1, description="So many, or all there are.")
    ] = None
    to_turn: Annotated[StrictStr | None, Field(description="This one, and all after it.")] = None
    before_message: Annotated[
        StrictStr | None,
        Field(description="The turn that begins with this message, and all after it."),
    ] = None
    to_version: Annotated[
        StrictInt | None,
        Field(
            ge=1,
            le=2**31 - 1,
            description="All that began after this version, which lies between turns.",
        ),
    ] = None
    interrupt: InterruptFirst = False

    def command(self, *at: str, claim: c.HeadClaim | None = None, asked: bool = False) -> c.Rewind:
        """Return the command; `asked` if it is part of a batch.

        Raises:
            ProblemError: it names no target, or several; `at` is its place.
        """
        named = [name for name in TARGETS if getattr(self, name) is not None]
        if len(named) != 1:
            places = [(*at, name) for name in named] or [at]
            flaws = [Flaw(ONE_TARGET, place) for place in places]
            raise ProblemError("invalid-value", ONE_TARGET, flaws=flaws)
        return c.Rewind(
            turns=self.turns,
            to_turn=self.to_turn,
            before_message=self.before_message,
            to_version=self.to_version,
            interrupt=self.interrupt,
            claim=claim,
            asked=RawJson(canonical(self.model_dump(exclude_defaults=True))) if asked else None,
        )


class RewindBody(RewindFields):
    """Which turns go out of sight."""

    dry_run: DryRun = False
    head: HeadBody | None = None


class RedoBody(Body):
    """What comes back: what the newest rewind took out, or the one at `rewind_version`."""

    rewind_version: Annotated[
        StrictInt | None,
        Field(ge=1, le=2**31 - 1, description="A rewind's: what was in sight just before it."),
    ] = None
    interrupt: InterruptFirst = False
    dry_run: DryRun = False
    head: HeadBody | None = None

    def command(self) -> c.Redo:
        """Return the command."""
        return c.Redo(
            rewind_version=self.rewind_version,
            interrupt=self.interrupt,
            claim=None if self.head is None else self.head.claim(),
        )
