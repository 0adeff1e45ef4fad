"""How far has the fold come, where a person waits for it?"""

from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from typing import Final

from api.cli.progress import Bar, bar
from api.cli.replaying_steps import Steps

PATIENCE: Final = 500
EVERY: Final = 64


@contextmanager
def patiently(steps: Steps) -> Generator[None]:
    """Show a bar once more events than a person would notice are folded in the block."""
    folded = 0
    shown: list[Bar] = []

    with ExitStack() as stack:

        def heard(done: int) -> None:
            nonlocal folded
            folded += 1
            if folded == PATIENCE:
                shown.append(stack.enter_context(bar("folding events", steps.newest_version)))
            if shown and folded % EVERY == 0:
                shown[0].done(done)

        steps.heard = heard
        try:
            yield
        finally:
            steps.heard = None
