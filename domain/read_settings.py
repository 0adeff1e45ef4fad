"""What does an object of settings set, and what in it means nothing?"""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Final, NamedTuple, TypeAlias

from domain.identifiers import NAME_RULE, is_name
from domain.json_text import JsonValue
from domain.lanes.source import PLATFORM_RULE, identifier, is_platform
from domain.project_settings import HomeChannel, LanePolicies, ProjectSettings, SessionPolicies
from domain.refusals import InvalidValue

DAYS_LIMIT: Final = 36_500
FRESH_LIMIT_S: Final = 365 * 24 * 3600
PLATFORMS_LIMIT: Final = 100
USERS_LIMIT: Final = 10_000
GROUPS: Final = ("lanes", "sessions")
MEMBERS: Final[Mapping[str, Sequence[str]]] = {
    "lanes": [each.name for each in fields(LanePolicies)],
    "sessions": [each.name for each in fields(SessionPolicies)],
}
UNKNOWN: Final = "there is no such setting"
_OBJECT: Final = "expected an object"

Place: TypeAlias = tuple[str | int, ...]


class Wrong(NamedTuple):
    """A place in a settings object, as path tokens, and why it means nothing there."""

    at: Place
    detail: str


class InvalidSettings(ValueError):
    """They hold what means nothing; never empty."""

    def __init__(self, wrong: Sequence[Wrong]) -> None:
        super().__init__(wrong[0].detail)
        self.wrong: Final = tuple(wrong)


def read_settings(value: JsonValue, version: int = 0) -> ProjectSettings:
    """Return what an object sets, with the defaults for all that it leaves out.

    Raises:
        InvalidSettings: with every place that means nothing.
    """
    wrong: list[Wrong] = []
    groups = _Members(wrong, value, (), GROUPS)
    settings = ProjectSettings(
        lanes=_lanes(groups.inner("lanes", MEMBERS["lanes"])),
        sessions=_sessions(groups.inner("sessions", MEMBERS["sessions"])),
        version=version,
    )
    if wrong:
        raise InvalidSettings(wrong)
    return settings


def _lanes(members: "_Members") -> LanePolicies:
    flag, whole, default = members.flag, members.whole, LanePolicies()
    per_user = flag("group_sessions_per_user", default=default.group_sessions_per_user)
    in_threads = flag("thread_sessions_per_user", default=default.thread_sessions_per_user)
    return LanePolicies(
        group_sessions_per_user=per_user,
        thread_sessions_per_user=in_threads,
        profiles=flag("profiles", default=default.profiles),
        redact_ids=flag("redact_ids", default=default.redact_ids),
        prune_after_days=whole("prune_after_days", default.prune_after_days, DAYS_LIMIT),
        resume_fresh_s=whole("resume_fresh_s", default.resume_fresh_s, FRESH_LIMIT_S),
        allowed_users=_allowed(members),
        home_channels=_homes(members),
    )


def _sessions(members: "_Members") -> SessionPolicies:
    kept = members.whole("retain_ended_days", SessionPolicies().retain_ended_days, DAYS_LIMIT)
    return SessionPolicies(retain_ended_days=kept)


def _allowed(members: "_Members") -> Mapping[str, frozenset[str]] | None:
    if members.values.get("allowed_users") is None:
        return None
    platforms = members.platforms("allowed_users")
    found: dict[str, frozenset[str]] = {}
    users = 0
    for platform, ids in platforms.values.items():
        at = (*platforms.at, platform)
        if isinstance(ids, list):
            users += len(ids)
            found[platform] = frozenset(
                members.named(each, (*at, number)) for number, each in enumerate(ids)
            )
        else:
            members.note("expected an array of user ids", at)
    if users > USERS_LIMIT:
        members.note(f"at most {USERS_LIMIT} user ids", platforms.at)
    return found


def _homes(members: "_Members") -> Mapping[str, HomeChannel]:
    platforms = members.platforms("home_channels")
    found: dict[str, HomeChannel] = {}
    for platform in platforms.values:
        home = platforms.inner(platform, ("chat_id", "name"))
        name = home.values.get("name")
        found[platform] = HomeChannel(
            chat_id=home.named(home.values.get("chat_id"), (*home.at, "chat_id")),
            name=None if name is None else home.text(name, (*home.at, "name")),
        )
    return found


class _Members:
    """An object's members; each that means nothing is noted, and stands for the default."""

    def __init__(
        self, wrong: list[Wrong], value: JsonValue, at: Place, known: Sequence[str] | None
    ) -> None:
        self._wrong: Final = wrong
        self.at: Final = at
        self.values: Final = value if isinstance(value, dict) else {}
        if not isinstance(value, dict):
            self.note(_OBJECT, at)
        for name in self.values:
            if known is not None and name not in known:
                self.note(UNKNOWN, (*at, name))

    def note(self, detail: str, at: Place) -> None:
        self._wrong.append(Wrong(at, detail))

    def inner(self, name: str, known: Sequence[str] | None) -> "_Members":
        return _Members(self._wrong, self.values.get(name, {}), (*self.at, name), known)

    def platforms(self, name: str) -> "_Members":
        found = self.inner(name, None)
        if len(found.values) > PLATFORMS_LIMIT:
            self.note(f"at most {PLATFORMS_LIMIT} platforms", found.at)
        for platform in found.values:
            if not is_platform(platform):
                self.note(PLATFORM_RULE, (*found.at, platform))
        return found

    def flag(self, name: str, *, default: bool) -> bool:
        value = self.values.get(name, default)
        if isinstance(value, bool):
            return value
        self.note("expected true or false", (*self.at, name))
        return default

    def whole(self, name: str, default: int, most: int) -> int:
        value = self.values.get(name, default)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most:
            return value
        self.note(f"expected a whole number from 0 to {most}", (*self.at, name))
        return default

    def named(self, value: JsonValue, at: Place) -> str:
        """Return a user's or a chat's id, which platforms may write as a number."""
        try:
            found = identifier(value)
        except InvalidValue as error:
            self.note(error.detail, at)
            return ""
        if not found:
            self.note("an id is not empty", at)
        return found

    def text(self, value: JsonValue, at: Place) -> str:
        if isinstance(value, str) and is_name(value):
            return value
        self.note(NAME_RULE, at)
        return ""
