"""By which older names may this conversation be known, and is it the same one?

What a platform says of a chat, or what is known of its ids, can become more exact. The lane of the
same conversation under its less exact name is then moved, never copied; and never into the hands
of somebody whose it may not be.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from domain.lanes.keys import KeyPolicy, Part, id_of, key_of, lane_id, named_parts
from domain.lanes.source import Source, recorded_source
from domain.lanes.whatsapp import all_of, normalised

Condition: TypeAlias = Literal["same-workspace", "claimed-once", "newest"]
ALIASES_TRIED: Final = 16
"""Of the ids of one person, so many are looked for, the shortest first."""
_DIALECTS: Final = ("", "@s.whatsapp.net", "@c.us", "@lid")


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A name that the conversation may have had.

    Attributes:
        condition: When it is the same conversation: if the older lane was the same workspace's;
            if it was, or named none and no workspace has claimed it; or if it exists, the newest
            of several.
        scope_id: The workspace that the conversation is in.
    """

    lane_id: str
    lane_key: str
    condition: Condition
    scope_id: str | None = None


def legacy_keys(source: Source, policy: KeyPolicy) -> tuple[Candidate, ...]:
    """Return the older names of a conversation; those of condition `newest` are one choice."""
    if source.platform == "slack":
        return _without_workspace(source, policy)
    if source.platform == "whatsapp" and source.chat_type == "dm":
        return _in_other_dialects(source, policy)
    return ()


def may_adopt(candidate: Candidate, old_source: Mapping[str, object], *, claimed: bool) -> bool:
    """Tell whether an older lane, which was opened by `old_source`, is this conversation's.

    Args:
        candidate: The name that the older lane was found by.
        old_source: As it was recorded.
        claimed: Whether a workspace has taken over what was known by that name before.
    """
    if candidate.condition == "newest":
        return True
    scope_id = recorded_source(old_source).scope_id
    if scope_id is None:
        return candidate.condition == "claimed-once" and not claimed
    return scope_id == candidate.scope_id


def _without_workspace(source: Source, policy: KeyPolicy) -> tuple[Candidate, ...]:
    """Return the name from when nobody said in which workspace a chat is."""
    if not source.scope_id:
        return ()
    older = named_parts(replace(source, scope_id=None), policy)
    condition: Condition = "claimed-once" if source.chat_type == "dm" else "same-workspace"
    return (_older(older, condition, source.scope_id),)


def _in_other_dialects(source: Source, policy: KeyPolicy) -> tuple[Candidate, ...]:
    """Return the names from when it was not known which ids are one person's."""
    parts = named_parts(source, policy)
    said = source.chat_id or source.user_id_alt or source.user_id
    if not said or not normalised(said):
        return ()
    known = dict.fromkeys((normalised(said), *all_of(said, policy.aliases)[:ALIASES_TRIED]))
    spelled = (f"{bare}{dialect}" for bare in known for dialect in _DIALECTS)
    current = lane_id(source, policy)
    others: list[Candidate] = []
    for peer in dict.fromkeys((said, *spelled)):
        parts["peer"] = peer
        others.append(_older(parts, "newest"))
    return tuple(other for other in others if other.lane_id != current)


def _older(parts: dict[Part, str], condition: Condition, scope_id: str | None = None) -> Candidate:
    return Candidate(
        lane_id=id_of(parts), lane_key=key_of(parts), condition=condition, scope_id=scope_id
    )
