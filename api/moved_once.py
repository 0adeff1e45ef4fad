"""How does a request that moves a history answer once, however often it comes?

The first answer is kept, and told again for as long as the session is there; the headers say where
it stands now.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from fastapi import Request

from api.body import RawBody
from api.shapes import Shape, readiness_headers
from api.writing import Once, Written, once, replay_headers
from domain.raw_json import dumped
from domain.refusals import NoSuchSession
from domain.state import GONE
from infrastructure.command_handler import Appended, Target
from infrastructure.composition import Turnlog
from infrastructure.idempotency import Kept
from infrastructure.runner import Attempt

Headers: TypeAlias = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request, and how it is known again."""

    request: Request
    body: RawBody
    key: str | None


async def moved_once(
    log: Turnlog,
    target: Target,
    asked: Asked,
    write: Callable[[Attempt], tuple[Appended, Shape]],
) -> tuple[bytes, Headers]:
    """Return what `write` says of what it recorded, as JSON, and the headers to send it with."""

    def first(attempt: Attempt) -> tuple[tuple[bytes, Headers], Written]:
        done, shape = write(attempt)
        answer = dumped(shape)
        written = Written(
            status=200,
            first_version=done.facts[0].version,
            last_version=done.facts[-1].version,
            result=answer,
        )
        return (answer, readiness_headers(done.readiness, done.head)), written

    def again(attempt: Attempt, kept: Kept) -> tuple[bytes, Headers]:
        key, state = log.handler.state(attempt, target)
        if state.head.status in GONE:
            raise NoSuchSession
        readiness = log.handler.readiness(attempt, state, key)
        return kept.result, readiness_headers(readiness, state.head)

    identity = Once(
        project_id=target.project_id, key=asked.key, request=asked.request, body=asked.body.raw
    )
    (answer, headers), replayed = await once(log, identity, first, again)
    return answer, {**headers, **replay_headers(replayed=replayed)}
