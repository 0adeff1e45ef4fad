"""What came by a lane: which message is it, who says it, may they, and did it come before?

A platform delivers a message at least once. It is known again by the place where it was said, its
id there and its revision, whatever became of the lane's session meanwhile.
"""

from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import NamedTuple

from sqlalchemy import Connection

from domain.identifiers import is_name
from domain.lanes.inert import single_line
from domain.lanes.keys import KeyPolicy, ids_of, joined, participant
from domain.lanes.redaction import hidden_sender, hides
from domain.lanes.source import Source, recorded_source
from domain.project_settings import ProjectSettings
from domain.refusals import InvalidValue, NoSuchLane
from infrastructure.idempotency import IdempotencyKey, Kept, find
from infrastructure.lanes.arriving import arrival_at, arrival_under
from infrastructure.lanes.lookup import FoundLane, followed
from infrastructure.lanes.older_names import known_before
from infrastructure.lanes.resolving import Arrival, Beginning
from infrastructure.project_settings import key_policy, settings_of


class Sender(NamedTuple):
    """Who says something in a conversation that several people share.

    Attributes:
        name: What stands before their words.
        subject_id: Whose words they are, for ever: the person on their platform.
        display: What they call themselves, in one line.
    """

    name: str | None = None
    subject_id: str | None = None
    display: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """What a gateway passes on.

    Attributes:
        source: Where it comes from; None if only the lane is named.
        lane_id: The lane that is named; None if it follows from the source.
        message_id: The platform's.
        digest: Of what is said.
        internal: Whether it is no person's, but the gateway's own.
    """

    project_id: str
    source: Source | None = None
    lane_id: str | None = None
    message_id: str | None = None
    revision: int = 0
    digest: bytes = b""
    internal: bool = False
    beginning: Beginning = field(default_factory=Beginning)


class Came(NamedTuple):
    """What is known of it when it comes.

    Attributes:
        place: The lane where it was said, wherever that lane's conversation goes on.
        key: Under which it is known again; None if it has no id.
        kept: What became of it when it came before; None if it did not.
        allowed: Whether who says it may.
        found: The lane that it comes by, if there is one.
    """

    arrival: Arrival
    place: str
    key: IdempotencyKey | None
    kept: Kept | None
    allowed: bool
    sender: Sender | None
    found: FoundLane | None


def came(
    connection: Connection, incoming: Incoming, asked: IdempotencyKey | None, now: int
) -> Came:
    """Look at what comes; `asked` is the key that the gateway gives a request.

    Raises:
        NoSuchLane: no such lane is known, and no source tells which it is.
        InvalidValue: the source is of another lane than the one that is named.
        KeyReused: it came before, and was something else.
        SettingsUnreadable: whom the ids of the source name cannot be told.
    """
    settings = settings_of(connection, incoming.project_id)
    source, policy = incoming.source, KeyPolicy()
    if source is not None:
        policy = key_policy(connection, incoming.project_id, source.platform, settings)
    arrived, found = _arrived(connection, incoming, policy)
    place = arrived.lane_id if source is not None else incoming.lane_id or arrived.lane_id
    key = asked
    if incoming.message_id is not None:
        key = key_of(incoming, incoming.message_id, place)
    kept = None if key is None else find(connection, key, now)
    if kept is None and key is not None and incoming.message_id is not None and arrived.candidates:
        keys = {
            each.lane_id: key_of(incoming, incoming.message_id, each.lane_id)
            for each in arrived.candidates
        }
        before = known_before(connection, arrived, keys, now)
        if before is not None:
            place, kept, found = before.found.lane_id, before.kept, found or before.found
            key = keys[place]
    speaker = source or _alone(incoming, found)
    if source is None and speaker is not None:
        policy = _policy(connection, incoming.project_id, speaker, settings)
    return Came(
        arrival=arrived,
        place=place,
        key=key,
        kept=kept,
        allowed=_is_allowed(settings, incoming, speaker, policy),
        sender=_sender(settings, incoming, source, policy),
        found=found,
    )


def may_speak(connection: Connection, found: FoundLane) -> bool:
    """Tell whether whose lane it is may have something said again there.

    In a shared lane nobody is named who could be asked about.

    Raises:
        SettingsUnreadable: whom the ids of the lane's source name cannot be told.
    """
    settings = settings_of(connection, found.project_id)
    speaker = recorded_source(found.lane.source)
    if found.lane.shared or not settings.readable:
        return settings.readable
    policy = _policy(connection, found.project_id, speaker, settings)
    return settings.allows(speaker.platform, *ids_of(speaker, policy))


def key_of(incoming: Incoming, message_id: str, place: str) -> IdempotencyKey:
    """Return the key of a message of a platform; no client's key holds a control character."""
    return IdempotencyKey(
        project_id=incoming.project_id,
        key=f"\x1flane-message {place} {incoming.revision} {message_id}",
        request_digest=incoming.digest,
    )


def id_in_session(place: str, message_id: str, revision: int) -> str:
    """Return the id of a message of a platform within a session, whichever lanes the session has.

    >>> id_in_session("0f" * 16, "42", 0)
    '0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f:0:42'
    """
    plain = f"{place}:{revision}:{message_id}"
    return plain if is_name(plain) else f"{place}:{revision}#{_digest(message_id)}"


def _arrived(
    connection: Connection, incoming: Incoming, policy: KeyPolicy
) -> tuple[Arrival, FoundLane | None]:
    project_id, lane_id = incoming.project_id, incoming.lane_id
    there = None if lane_id is None else followed(connection, project_id, lane_id)
    if incoming.source is None:
        if there is None or there.lane.status in {"moved", "purged"}:
            raise NoSuchLane
        arrived = arrival_at(there.lane_id, project_id, there.lane)
        touched = replace(arrived, touches=not incoming.internal, beginning=incoming.beginning)
        return touched, there
    arrived = replace(
        arrival_under(policy, project_id, incoming.source, touches=not incoming.internal),
        beginning=incoming.beginning,
    )
    if lane_id is None or lane_id == arrived.lane_id:
        return arrived, there or followed(connection, project_id, arrived.lane_id)
    if there is None:
        raise NoSuchLane
    here = followed(connection, project_id, arrived.lane_id)
    of_it = {arrived.lane_id, *(() if here is None else (here.lane_id,))}
    if there.lane_id not in of_it and there.lane.moved_to not in of_it:
        raise InvalidValue("the source is of another lane", "source")
    return arrived, here


def _alone(incoming: Incoming, found: FoundLane | None) -> Source | None:
    """Return whose lane it is, of one that is one person's, if nobody else is named."""
    if incoming.internal or found is None or found.lane.shared:
        return None
    return recorded_source(found.lane.source)


def _policy(
    connection: Connection, project_id: str, speaker: Source, settings: ProjectSettings
) -> KeyPolicy:
    """Return whom the ids of a source name, where it matters who may speak."""
    if not settings.readable or settings.lanes.allowed_users is None:
        return KeyPolicy()
    return key_policy(connection, project_id, speaker.platform, settings)


def _is_allowed(
    settings: ProjectSettings, incoming: Incoming, speaker: Source | None, policy: KeyPolicy
) -> bool:
    """Tell whether who speaks may; where some may, somebody who is not named may not."""
    if speaker is None:
        everybody = settings.lanes.allowed_users is None
        return settings.readable and (everybody or incoming.internal)
    ids = ids_of(speaker, policy)
    if incoming.internal and not ids:
        return settings.readable
    return settings.allows(speaker.platform, *ids)


def _sender(
    settings: ProjectSettings, incoming: Incoming, source: Source | None, policy: KeyPolicy
) -> Sender | None:
    """Return who speaks; None of what the gateway says itself."""
    person = None if source is None else participant(source, policy)
    if source is None or (person is None and not source.user_name):
        return None if incoming.internal else Sender()
    name = display = single_line(source.user_name or "") or None
    if name is None and person is not None:
        asked = settings.lanes.redact_ids or not settings.readable
        name = hidden_sender(person) if hides(source.platform, asked=asked) else person
    return Sender(name, _subject(source, person), display)


def _subject(source: Source, person: str | None) -> str | None:
    """Return whose words they are: no two platforms share a person, nor two workspaces."""
    if person is None:
        return None
    scope = (source.scope_id,) if source.platform == "slack" and source.scope_id else ()
    subject = joined((source.platform, *scope, person))
    return subject if is_name(subject) else f"{source.platform}:{_digest(subject)}"


def _digest(text: str) -> str:
    return sha256(text.encode(errors="surrogatepass")).hexdigest()
