"""How does a command say that something is not so? By one sentence, a code, and an exit code.

0: done. 1: what was asked for is not so, or was refused. 2: the command or its settings make no
sense, or there is no database or server to work with. 70: a defect. 130: interrupted. 141: nobody
reads the output any more. No sentence repeats what was said in a session.
"""

from typing import Final

import typer

DONE: Final = 0
NOT_SO: Final = 1
UNFIT: Final = 2
DEFECT: Final = 70
INTERRUPTED: Final = 130
NOBODY_READS: Final = 141


class Failure(Exception):
    """Why the command cannot do what it was asked for."""

    def __init__(self, code: str, sentence: str, exit_code: int = NOT_SO) -> None:
        super().__init__(sentence)
        self.code: Final = code
        self.sentence: Final = sentence
        self.exit_code: Final = exit_code


class ReaderGone(Exception):
    """Whoever read the output has stopped: `turnlog export s | head`."""


def end(code: int) -> None:
    """End the command with this exit code, unless all is well."""
    if code:
        raise typer.Exit(code)
