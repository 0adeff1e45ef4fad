"""`turnlog diff`: what differs between two points of a session?"""

from api.cli.output import say, write
from api.cli.source import source
from api.diff_text import lines


def show_diff(  # noqa: PLR0913
    project: str,
    url: str | None,
    session_id: str,
    first: str,
    second: str | None,
    *,
    limit: int,
    as_json: bool,
) -> None:
    """Write what differs, a line each."""
    with source(project, url) as found:
        told = found.diff(session_id, first, second, limit=limit)
    if as_json:
        write(told + b"\n")
        return
    nothing = True
    for line in lines(told):
        nothing = False
        say(line)
    if nothing:
        say("nothing differs")
