"""What do the sessions of one source amount to, and what of it was lost?"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from infrastructure.imports.claude_lines import id_for
from infrastructure.imports.conversation import Conversation
from infrastructure.imports.translation import Loss, Report, TranslatedSession, Translation

_PLAIN_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.]{0,63}")
_ENDINGS: Final = (".jsonl", ".ndjson", ".json", ".csv")


@dataclass(frozen=True, slots=True, kw_only=True)
class Summed:
    """One session and what it was told."""

    session_id: str
    told: Conversation
    title: str | None = None
    parent: str | None = None
    agent_id: str | None = None


def stem_of(source_name: str) -> str:
    """Return the session id that a file's name gives where the file itself gives none."""
    name = source_name.replace("\\", "/").rsplit("/", 1)[-1]
    for ending in _ENDINGS:
        name = name.removesuffix(ending)
    return id_for(name, prefix="session", otherwise="unnamed")


def summed(
    sessions: Sequence[Summed],
    line_count: int,
    losses: Sequence[Loss],
    unused: Collection[str],
) -> Translation:
    """Return the translation of sessions whose lines were all told."""
    told = [session.told for session in sessions]
    found = [*losses, *(loss for each in told for loss in each.losses)]
    found.sort(key=lambda loss: (loss.line or 0, loss.code))
    return Translation(
        sessions=tuple(
            TranslatedSession(
                session_id=session.session_id,
                title=session.title,
                parent=session.parent,
                agent_id=session.agent_id,
                events=tuple(session.told.events),
                lines=len({event.line for event in session.told.events}),
            )
            for session in sessions
        ),
        report=Report(
            files=1,
            lines=line_count,
            sessions=len(sessions),
            turns=sum(each.told.turns for each in told),
            messages=sum(each.told.messages for each in told),
            tool_calls=sum(each.told.tool_calls for each in told),
            tool_results=sum(each.told.tool_results for each in told),
            events=sum(len(each.events) for each in told),
            kept_as_data=sum(each.told.kept_as_data for each in told),
            repeats_dropped=sum(each.told.repeats_dropped for each in told),
            losses=(*found, *not_carried(unused)),
        ),
        diverged_at=None,
    )


def not_carried(unused: Collection[str]) -> Iterator[Loss]:
    """Yield one loss that names the fields that no event carries, if there are any."""
    plain = sorted(name for name in unused if _PLAIN_NAME.fullmatch(name))
    odd = len(unused) - len(plain)
    if unused:
        names = [*plain, f"{odd} more"] if odd else plain
        yield Loss(line=None, code="fields-not-carried", detail=", ".join(names))
