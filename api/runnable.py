"""What is a request told that would have something run in a session which cannot go on?

That it is damaged is for those who read it; whoever wants a turn learns that there will be none.
"""

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from domain.refusals import SessionDamaged, SessionUnrecoverable

Given = ParamSpec("Given")
Answer = TypeVar("Answer")


def begins_a_run(route: Callable[Given, Awaitable[Answer]]) -> Callable[Given, Awaitable[Answer]]:
    """Return a route that says of a damaged session that nothing can run in it."""

    @wraps(route)
    async def told(*args: Given.args, **kwargs: Given.kwargs) -> Answer:
        try:
            return await route(*args, **kwargs)
        except SessionDamaged:
            raise SessionUnrecoverable from None

    return told
