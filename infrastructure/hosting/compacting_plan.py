"""What is a summary to be made of, as the session stands, and which harness makes it?"""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from domain.compacting import Seen, covered
from domain.json_text import JsonValue
from domain.messages import readable
from domain.refusals import NoSuchHarness, NothingToCompact
from infrastructure import runs
from infrastructure.command_handler import Target
from infrastructure.compaction_runs import Plan, check_idle, check_open
from infrastructure.harness.port import Seed
from infrastructure.hosting.configured import Configuration, Configurations
from infrastructure.reading.files import with_files
from infrastructure.reading.moment import moment
from infrastructure.reading.transcript import live_view
from projections.transcript import TranscriptMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """What a harness is told, and how it is started.

    Attributes:
        seed: What the summary is to stand for, and nothing else: what is kept is not summed up.
    """

    plan: Plan
    seed: Seed
    configuration: Configuration


class WorkspaceMissing(Exception):
    """The folder that the session works in is gone."""


def planned(
    connection: Connection,
    configurations: Configurations,
    target: Target,
    keep_turns: int,
    now: int,
) -> Planned:
    """Return what a summary can be made of.

    Raises:
        WorkspaceMissing: the harness could not be started.
        Refusal: the session is not at rest, or there is nothing to sum up.
    """
    found = moment(connection, target)
    check_open(found.head)
    configuration = configurations.of(connection, found.key, found.head)
    if configuration.wanted.standing == "workspace-missing":
        raise WorkspaceMissing
    check_idle(found.head, runs.find(connection, found.key), now)
    live = live_view(connection, found).messages
    seen = [Seen(message.message_id, message.turn_id) for message in live]
    end = covered(seen, keep_turns)
    try:
        configurations.known(configuration)
    except NoSuchHarness:
        raise NothingToCompact("no-summariser") from None
    summed_up = live[:end]
    plan = Plan(
        head=found.head,
        through_message_id=seen[end - 1].message_id,
        archives=sum(not message.summary for message in summed_up),
    )
    seed = Seed(messages=_told(connection, target, summed_up))
    return Planned(plan=plan, seed=seed, configuration=configuration)


def _told(
    connection: Connection, target: Target, messages: Sequence[TranscriptMessage]
) -> list[dict[str, JsonValue]]:
    held = with_files(connection, target.project_id, messages)
    return [{"role": message.role, "parts": [*readable(message.parts)]} for message in held]
