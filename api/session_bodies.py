"""What do requests about a session as a whole say?"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, StrictBool, StrictStr

from api.body import Body, RawBody
from api.problems import Flaw, ProblemError
from domain import commands as c
from domain.canonical import canonical
from domain.events.session import ApprovalMode, ArchiveReason, Parent
from domain.json_text import JsonValue, raw_members
from domain.raw_json import RawJson, without_raw


class ParentBody(Body):
    """Whose sub-agent works in the session, and by which call it was begun, if that is known."""

    session_id: StrictStr
    agent_id: StrictStr | None = None
    tool_call_id: Annotated[
        StrictStr | None,
        Field(
            description=(
                "A call of the parent's turn. If absent, the session belongs to the call that "
                "waits longest of those that begin sub-agents."
            )
        ),
    ] = None


class OpenFields(Body):
    """How a session begins."""

    title: StrictStr | None = None
    config: dict[str, Any] | None = None
    source: dict[str, Any] | None = None
    approval_mode: ApprovalMode | None = None
    parent: ParentBody | None = None


class OpenBody(OpenFields):
    """A new session; without an id it gets one."""

    session_id: StrictStr | None = None


class PatchBody(Body):
    """What to change: what is left out stays, a configuration is replaced whole.

    Null takes a title or a configuration away. `suspended` can only become false: the session
    takes turns again. A title by a `hook` is passed over where a person, an import or a fork gave
    one; `title_applied` of the answer says so.
    """

    title: StrictStr | None = None
    title_by: Literal["person", "hook"] = "person"
    config: dict[str, Any] | None = None
    approval_mode: ApprovalMode | None = None
    archived: StrictBool | None = None
    archived_reason: Annotated[
        ArchiveReason | None,
        Field(description="With `archived: true`, why it ended; none: a person put it away."),
    ] = None
    pinned: Annotated[
        StrictBool | None, Field(description="A pinned session is kept, however long ago it ended.")
    ] = None
    suspended: StrictBool | None = None


def open_command(fields: OpenFields, raw: Mapping[str, bytes]) -> c.OpenSession:
    """Return the command that the body is, with opaque members as they came."""
    return c.OpenSession(
        title=fields.title,
        config=None if fields.config is None else RawJson(raw["config"]),
        source=None if fields.source is None else RawJson(raw["source"]),
        approval_mode=fields.approval_mode,
        parent=None if fields.parent is None else Parent(**fields.parent.model_dump()),
    )


def opened_alike(command: c.OpenSession, opened: JsonValue) -> bool:
    """Tell whether a session that was `opened` so is the one that the command asks for."""
    asked = {
        "title": command.title,
        "config": without_raw(command.config),
        "source": without_raw(command.source),
        "approval_mode": command.approval_mode,
    }
    if command.parent is not None and isinstance(opened, dict):
        asked["parent"] = _said(command.parent)
        opened = _as_asked(command, command.parent, opened)
    given: JsonValue = {name: value for name, value in asked.items() if value is not None}
    return canonical(given) == canonical(opened)


def _as_asked(
    command: c.OpenSession, parent: Parent, opened: Mapping[str, JsonValue]
) -> dict[str, JsonValue]:
    """Return how a sub-agent's session was opened, as far as its caller says such a thing."""
    known, said = opened.get("parent"), _said(parent)
    found = {"tool_call_id": parent.tool_call_id} | (known if isinstance(known, dict) else {})
    left = dict(opened)
    left["parent"] = {name: value for name, value in found.items() if name in said}
    if command.approval_mode is None:
        left.pop("approval_mode", None)
    return left


def _said(parent: Parent) -> dict[str, JsonValue]:
    said = {
        "session_id": parent.session_id,
        "agent_id": parent.agent_id,
        "tool_call_id": parent.tool_call_id,
    }
    return {name: value for name, value in said.items() if value is not None}


def _renaming(patch: PatchBody, raw: Mapping[str, bytes]) -> list[c.SessionCommand]:
    if "title" in raw and (patch.title is not None or patch.title_by == "person"):
        return [c.RenameSession(title=patch.title, by=patch.title_by)]
    if "title_by" in raw and patch.title_by != "person":
        detail = "only a person takes a title away; a hook gives one"
        raise ProblemError("invalid-value", detail, flaws=[Flaw(detail, ("title_by",))])
    return []


def change_commands(body: RawBody) -> list[c.SessionCommand]:
    """Return the commands that a patch is, in the order in which they can all succeed.

    Raises:
        ProblemError: a member means nothing.
    """
    patch = body.valid(PatchBody)
    raw = raw_members(body.raw)
    _check(patch, raw)
    steps: list[c.SessionCommand] = []
    if patch.archived is False:
        steps.append(c.UnarchiveSession())
    if patch.suspended is False:
        steps.append(c.UnsuspendSession())
    steps += _renaming(patch, raw)
    if "config" in raw:
        steps.append(c.ConfigureSession(config=RawJson(raw["config"])))
    if patch.approval_mode is not None:
        steps.append(c.SetApprovalMode(mode=patch.approval_mode))
    if patch.pinned is not None:
        steps.append(c.PinSession(pinned=patch.pinned))
    if patch.archived:
        steps.append(c.ArchiveSession(reason=patch.archived_reason))
    return steps


def _check(patch: PatchBody, raw: Mapping[str, bytes]) -> None:
    for name in ("approval_mode", "archived", "archived_reason", "pinned", "suspended"):
        if raw.get(name) == b"null":
            detail = "null takes nothing away here; leave it out"
            raise ProblemError("invalid-value", detail, flaws=[Flaw(detail, (name,))])
    if patch.archived_reason is not None and not patch.archived:
        detail = "only what is archived by the same request has a reason"
        raise ProblemError("invalid-value", detail, flaws=[Flaw(detail, ("archived_reason",))])
    if patch.suspended:
        detail = "only false: a session is suspended by turns that are cut off again and again"
        raise ProblemError("invalid-value", detail, flaws=[Flaw(detail, ("suspended",))])
