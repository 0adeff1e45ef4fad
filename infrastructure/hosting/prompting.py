"""What is said to a harness as a turn begins on it, or goes on?"""

from collections.abc import Sequence

from domain import events as e
from domain.dispatch.outcomes import Begin
from domain.json_text import JsonValue
from domain.messages import Message, parts_of, readable
from infrastructure.command_handler import Target
from infrastructure.composition import Turnlog
from infrastructure.harness.port import Prompt
from infrastructure.hosting.became import Dispatched
from infrastructure.hosting.binding import CarriedDecision
from infrastructure.hosting.patience import patiently
from infrastructure.hosting.seeds import carried, resumed
from infrastructure.reading.files import with_files_of


async def decisions_for(log: Turnlog, done: Dispatched) -> Sequence[CarriedDecision]:
    """Return what was decided of a turn that goes on while no harness ran it, oldest first."""
    if isinstance(done.decision, Begin) or done.found.key is None:
        return ()
    key, turn_ids = done.found.key, _turn_ids(done)
    return await patiently(log, lambda connection: carried(connection, key, turn_ids))


async def prompt_for(
    log: Turnlog,
    target: Target,
    done: Dispatched,
    decided: Sequence[CarriedDecision],
    *,
    with_asides: bool,
) -> Prompt:
    """Return what is said: what was said aside, if it is to be, and what is new or was decided."""
    parts = await _input(log, target, done) if isinstance(done.decision, Begin) else []
    asides = await _filled(log, target, done.found.asides) if with_asides else []
    return Prompt(
        parts=parts,
        asides=[{"role": "user", "parts": [*said]} for said in asides],
        resumed_calls=resumed(decided),
    )


async def _input(log: Turnlog, target: Target, done: Dispatched) -> list[dict[str, JsonValue]]:
    """Return what is said to the harness: the newest message, its files in it."""
    start = None if done.ask.start is None else done.ask.start.event
    if not isinstance(start, e.TurnStarted) or not start.messages:
        return []
    return (await _filled(log, target, start.messages[-1:]))[0]


async def _filled(
    log: Turnlog, target: Target, messages: Sequence[Message]
) -> list[list[dict[str, JsonValue]]]:
    """Return the parts of each message, its files in them."""
    said = [readable(parts_of(message)) for message in messages]
    if not any(part.get("type") == "attachment" for parts in said for part in parts):
        return said
    return await patiently(
        log,
        lambda connection: [with_files_of(connection, target.project_id, parts) for parts in said],
    )


def _turn_ids(done: Dispatched) -> list[str]:
    """Return the turn that goes on, and the lost one that it goes on with."""
    asked = [each.gate.turn_id for each in done.found.answered if each.gate is not None]
    return list(dict.fromkeys([*asked, *([] if done.turn_id is None else [done.turn_id])]))
