"""How does a route that writes answer a request once, however often it comes?

With an `Idempotency-Key`, the key is claimed in the very transaction that writes; a later request
with it gets the first answer again, rebuilt from the log and marked as replayed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated, Final, TypeVar

from fastapi import Depends, Header, Request

from api.problems import ProblemError
from infrastructure.composition import Turnlog
from infrastructure.idempotency import IdempotencyKey, Kept, claim, keep, key_of
from infrastructure.runner import Attempt

KEY_LIMIT: Final = 255
REPLAYED: Final = "Idempotent-Replayed"

Answer = TypeVar("Answer")


async def idempotency_key(
    idempotency_key: Annotated[
        str | None,
        Header(description="Any text of 1 to 255 visible characters; answers are kept a day."),
    ] = None,
) -> str | None:
    """Return the request's key.

    Raises:
        ProblemError: it cannot be one.
    """
    if idempotency_key is None:
        return None
    fits = 0 < len(idempotency_key) <= KEY_LIMIT and all(
        " " <= character <= "~" for character in idempotency_key
    )
    if not fits:
        detail = "an Idempotency-Key has 1 to 255 visible ASCII characters"
        raise ProblemError("invalid-header", detail)
    return idempotency_key


Key = Annotated[str | None, Depends(idempotency_key)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Once:
    """A request's identity: what makes it the same request again.

    Attributes:
        natural: What the request is about that happens once, whoever asks; else its key counts.
    """

    project_id: str
    key: str | None
    request: Request
    body: bytes
    natural: str | None = None

    def named(self) -> IdempotencyKey | None:
        """Return the key with the digest of the request, if there is one."""
        if self.natural is not None:
            return key_of(self.project_id, self.natural)
        if self.key is None:
            return None
        what = f"{self.request.method} {self.request.url.path}\n".encode()
        return IdempotencyKey(
            project_id=self.project_id,
            key=self.key,
            request_digest=sha256(what + self.body).digest(),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What to keep of an answer: its status, the versions, and JSON to rebuild the rest from."""

    status: int
    first_version: int | None = None
    last_version: int | None = None
    result: bytes = b"{}"


async def once(
    log: Turnlog,
    identity: Once,
    write: Callable[[Attempt], tuple[Answer, Written]],
    again: Callable[[Attempt, Kept], Answer],
) -> tuple[Answer, bool]:
    """Return what `write` answers, or `again` if the key was answered before; and which."""
    key = identity.named()

    def work(attempt: Attempt) -> tuple[Answer, bool]:
        if key is None:
            return write(attempt)[0], False
        kept = claim(attempt.connection, key, log.now())
        if kept is not None:
            return again(attempt, kept), True
        answer, written = write(attempt)
        keep(
            attempt.connection,
            key,
            Kept(
                status=written.status,
                first_version=written.first_version,
                last_version=written.last_version,
                result=written.result,
            ),
        )
        return answer, False

    return await log.write(work)


def replay_headers(*, replayed: bool) -> dict[str, str]:
    """Return the header that marks a replayed answer."""
    return {REPLAYED: "true"} if replayed else {}
