"""Which policies does a project have?

Of a value that this build cannot read they are the defaults, and say so: what was forbidden is then
not known, and whoever asks must not allow anything.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from domain.json_text import JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeChannel:
    """Where output goes on a platform that answers nobody's message."""

    chat_id: str
    name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LanePolicies:
    """How messages find their sessions.

    Attributes:
        group_sessions_per_user: Each member of a group has a session of their own there.
        thread_sessions_per_user: In a thread too, which is else shared by whoever writes in it.
        profiles: A source's profile is part of its key.
        redact_ids: The model sees digests of ids instead.
        prune_after_days: So long after its last activity a lane goes; 0: never.
        resume_fresh_s: So long an interrupted turn is gone on with by itself; 0: for ever.
        allowed_users: Who may speak on each platform, on others nobody; None: everybody.
        home_channels: By platform.
    """

    group_sessions_per_user: bool = True
    thread_sessions_per_user: bool = False
    profiles: bool = False
    redact_ids: bool = False
    prune_after_days: int = 0
    resume_fresh_s: int = 3600
    allowed_users: Mapping[str, frozenset[str]] | None = None
    home_channels: Mapping[str, HomeChannel] = field(default_factory=dict[str, HomeChannel])


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPolicies:
    """What becomes of sessions.

    Attributes:
        retain_ended_days: So long after its end a session is kept; 0: for ever.
    """

    retain_ended_days: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectSettings:
    """A project's policies, with the defaults filled in.

    Attributes:
        version: How often they were changed; 0: never set.
        readable: Whether they are what was set; if not, they are the defaults.
    """

    lanes: LanePolicies = field(default_factory=LanePolicies)
    sessions: SessionPolicies = field(default_factory=SessionPolicies)
    version: int = 0
    readable: bool = True

    def allows(self, platform: str, *user_ids: str) -> bool:
        """Tell whether somebody with any of these ids may speak; nobody may if it is not known."""
        if not self.readable:
            return False
        allowed = self.lanes.allowed_users
        return allowed is None or not allowed.get(platform, frozenset()).isdisjoint(user_ids)


def settings_json(settings: ProjectSettings) -> dict[str, JsonValue]:
    """Return the policies as they are shown, those that nobody set too."""
    lanes, sessions = settings.lanes, settings.sessions
    return {
        "lanes": {
            "group_sessions_per_user": lanes.group_sessions_per_user,
            "thread_sessions_per_user": lanes.thread_sessions_per_user,
            "profiles": lanes.profiles,
            "redact_ids": lanes.redact_ids,
            "prune_after_days": lanes.prune_after_days,
            "resume_fresh_s": lanes.resume_fresh_s,
            "allowed_users": _allowed(lanes.allowed_users),
            "home_channels": {
                platform: _home(channel) for platform, channel in lanes.home_channels.items()
            },
        },
        "sessions": {"retain_ended_days": sessions.retain_ended_days},
    }


def _allowed(users: Mapping[str, frozenset[str]] | None) -> JsonValue:
    if users is None:
        return None
    return {platform: [*sorted(ids)] for platform, ids in users.items()}


def _home(channel: HomeChannel) -> JsonValue:
    if channel.name is None:
        return {"chat_id": channel.chat_id}
    return {"chat_id": channel.chat_id, "name": channel.name}
