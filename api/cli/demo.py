"""`turnlog demo`: the main job, in one command, on a sample session that comes along."""

from contextlib import AbstractContextManager, suppress
from importlib.resources import files
from socket import socket
from typing import Final

from api.cli.failures import Failure
from api.cli.importing import report_lines
from api.cli.opening import opened
from api.cli.output import complain, say, write
from api.cli.serving import listening, loopback, run
from api.cli.terminal_text import one_line
from api.taking import import_shape, take
from domain.raw_json import dumped
from infrastructure.composition import Turnlog
from infrastructure.database import shown
from infrastructure.importing import FileImport, ImportReport
from infrastructure.settings import load

USUAL_PORT: Final = 8765
SAMPLE: Final = "claude-code-session.jsonl"
SAMPLE_SESSION: Final = "5f0d8a3e-6c1b-4a57-9b0e-2d41c7f8a960"


def demo(port: int | None, *, serve: bool, as_json: bool) -> None:
    """Import the sample, say what to type, and serve; done again, nothing is imported twice."""
    with opened(load()) as log:
        taken = _take_sample(log)
        if not serve:
            _announce(log, taken, None, as_json=as_json)
            return
        with _somewhere(port) as listener:
            run(log, listener, lambda url: _announce(log, taken, url, as_json=as_json))


def _somewhere(port: int | None) -> AbstractContextManager[socket]:
    """Listen where asked; not asked, at the usual port or, if that is taken, any other."""
    address = loopback("localhost")
    if port is not None:
        return listening(address, port)
    with suppress(Failure), listening(address, USUAL_PORT):
        return listening(address, USUAL_PORT)
    complain(f"port {USUAL_PORT} is taken; another one is used")
    return listening(address, 0)


def _take_sample(log: Turnlog) -> FileImport:
    content = files("infrastructure").joinpath("samples", SAMPLE).read_bytes()
    return take(log, "default", SAMPLE, content, format_="claude-code", on_conflict="skip")


def _announce(log: Turnlog, taken: FileImport, url: str | None, *, as_json: bool) -> None:
    database = shown(log.database.url)
    if as_json:
        document = {"url": url, "database": database, "import": import_shape(taken)}
        write(dumped(document) + b"\n")
        return
    session = taken.sessions[0] if taken.sessions else SAMPLE_SESSION
    say(f"The sample session is in {database}:")
    for line in report_lines(ImportReport(files=(taken,))):
        say(f"  {one_line(line)}")
    say("")
    say("Type next, in another terminal:" if url else "Type next:")
    for command in ("show", "tail --after 0", "verify", "export"):
        name, _, options = command.partition(" ")
        say(f"  turnlog {name} {session}{f' {options}' if options else ''}")
    say("  turnlog import ~/.claude/projects")
    if url is not None:
        base = f"{url}/v1/projects/default/sessions"
        say("")
        say("Or open:")
        say(f"  {url}/#/default/{session}")
        say(f"  {url}/docs")
        say(f"  {base}")
        say(f"  {base}/{session}/transcript")
        say("")
        say("Ctrl-C stops the server.")
