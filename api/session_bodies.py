"""What do requests about a session as a whole say?"""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import StrictBool, StrictStr

from api.body import Body, RawBody
from api.problems import Flaw, ProblemError
from domain import commands as c
from domain.canonical import canonical
from domain.events.session import ApprovalMode
from domain.json_text import JsonValue, raw_members
from domain.raw_json import RawJson, without_raw


class OpenFields(Body):
    """How a session begins."""

    title: StrictStr | None = None
    config: dict[str, Any] | None = None
    source: dict[str, Any] | None = None
    approval_mode: ApprovalMode | None = None


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
    suspended: StrictBool | None = None


def open_command(fields: OpenFields, raw: Mapping[str, bytes]) -> c.OpenSession:
    """Return the command that the body is, with opaque members as they came."""
    return c.OpenSession(
        title=fields.title,
        config=None if fields.config is None else RawJson(raw["config"]),
        source=None if fields.source is None else RawJson(raw["source"]),
        approval_mode=fields.approval_mode,
    )


def opened_alike(command: c.OpenSession, opened: JsonValue) -> bool:
    """Tell whether a session that was `opened` so is the one that the command asks for."""
    asked = {
        "title": command.title,
        "config": without_raw(command.config),
        "source": without_raw(command.source),
        "approval_mode": command.approval_mode,
    }
    given: JsonValue = {name: value for name, value in asked.items() if value is not None}
    return canonical(given) == canonical(opened)


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
    steps: list[c.SessionCommand] = []
    for name in ("approval_mode", "archived", "suspended"):
        if raw.get(name) == b"null":
            detail = "null takes nothing away here; leave it out"
            raise ProblemError("invalid-value", detail, flaws=[Flaw(detail, (name,))])
    if patch.archived is False:
        steps.append(c.UnarchiveSession())
    if patch.suspended:
        detail = "only false: a session is suspended by turns that are cut off again and again"
        raise ProblemError("invalid-value", detail, flaws=[Flaw(detail, ("suspended",))])
    if patch.suspended is False:
        steps.append(c.UnsuspendSession())
    steps += _renaming(patch, raw)
    if "config" in raw:
        steps.append(c.ConfigureSession(config=RawJson(raw["config"])))
    if patch.approval_mode is not None:
        steps.append(c.SetApprovalMode(mode=patch.approval_mode))
    if patch.archived:
        steps.append(c.ArchiveSession())
    return steps
