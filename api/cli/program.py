"""Which commands are there, and how does each end?

Commands are declared in `commands_*` with what they take; what they do is imported when one is run,
so that help comes at once. This is the process's outermost edge: every error becomes one sentence.
"""

import sys
import traceback
from collections.abc import Callable, Sequence
from functools import cache
from typing import NoReturn

import typer

from api.cli import (
    commands_deciding,
    commands_history,
    commands_keeping,
    commands_laning,
    commands_reading,
    commands_removing,
    commands_taking,
    failures,
)
from api.cli.failures import Failure, ReaderGone
from api.cli.output import abandon, complain

app = typer.Typer(
    name="turnlog",
    help="The log of what happens in the sessions of AI agents: record, import, read back.",
    epilog=(
        "Exit codes: 0 done, 1 not so or refused, 2 usage, or no fit database or server. "
        "TURNLOG_DATABASE_URL names another database than the embedded one; "
        "turnlog doctor lists all settings."
    ),
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for commands in (
    commands_taking,
    commands_reading,
    commands_laning,
    commands_deciding,
    commands_history,
    commands_removing,
    commands_keeping,
):
    app.add_typer(commands.commands)


@cache
def every_command() -> Callable[..., object]:
    """Return what parses arguments and runs the command that they name; it is made once."""
    return typer.main.get_command(app)


def main() -> NoReturn:
    """Run the command that the process was started with, and end the process."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run a command; return its exit code."""
    try:
        code = every_command()(
            list(arguments) or ["--help"], prog_name="turnlog", standalone_mode=False
        )
    except ReaderGone:
        abandon()
        return failures.NOBODY_READS
    except typer.Abort:
        return failures.INTERRUPTED
    except typer.TyperException as error:
        return _fail(Failure("usage", error.format_message(), failures.UNFIT))
    except Exception as error:  # noqa: BLE001 - the outermost edge
        return _fail(_told(error))
    return code if isinstance(code, int) else failures.DONE


def _told(error: Exception) -> Failure:
    if isinstance(error, Failure):
        return error
    from api.cli.translating import failure_of

    known = failure_of(error)
    if known is not None:
        return known
    # Where, and not what: an error's own words may hold what was said.
    complain_lines(traceback.format_tb(error.__traceback__))
    sentence = f"turnlog made a mistake ({type(error).__name__}); please report where it happened"
    return Failure("internal-error", sentence, failures.DEFECT)


def complain_lines(frames: Sequence[str]) -> None:
    """Write where a defect happened."""
    for frame in frames:
        for line in frame.rstrip("\n").split("\n"):
            complain(line)


def _fail(failure: Failure) -> int:
    complain(f"turnlog: {failure.sentence} ({failure.code})")
    return failure.exit_code
