"""Which calls of a page of a transcript began sub-agents, and where is it told what those did?"""

from collections.abc import Mapping, Sequence
from typing import Final

from sqlalchemy import Connection

from domain.json_text import parse, raw_members_within
from domain.raw_json import RawJson, dumped
from infrastructure.reading.lineages import ancestors
from infrastructure.reading.moment import Moment
from infrastructure.reading.subagents import pointers

MEMBER: Final = "subagent_session_id"
_CALL: Final = b'"tool_call"'


def with_subagents(connection: Connection, moment: Moment, messages: list[str]) -> list[str]:
    """Return messages, as JSON, with the sessions that their calls began; nothing else changes."""
    read = {
        at: raw_members_within(message.encode(), "parts")
        for at, message in enumerate(messages)
        if _CALL.decode() in message
    }
    turns = {str(parse(members["turn_id"])) for members, _ in read.values()}
    if not turns:
        return messages
    parents = [moment.target.session_id]
    if moment.lineage:
        parents += [each.session_id for each in ancestors(connection, moment.target)]
    found = pointers(connection, moment.target, parents, turns)
    if not found:
        return messages
    return [
        _pointing(*read[at], found) if at in read else message
        for at, message in enumerate(messages)
    ]


def _pointing(
    members: Mapping[str, bytes],
    parts: Sequence[dict[str, bytes]],
    found: Mapping[tuple[str, str], str],
) -> str:
    turn_id = str(parse(members["turn_id"]))
    for part in parts:
        if part.get("type") == _CALL:
            session_id = found.get((turn_id, str(parse(part["tool_call_id"]))))
            if session_id is not None:
                part[MEMBER] = dumped(session_id)
    shown = [{name: RawJson(value) for name, value in part.items()} for part in parts]
    whole = {name: RawJson(value) for name, value in members.items()}
    return dumped({**whole, "parts": shown}).decode()
