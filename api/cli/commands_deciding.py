"""Which commands answer what waits for a person?"""

from typing import Annotated

import typer

from api.cli import failures
from api.cli.failures import Failure, end
from api.cli.options import Json, MaybeGate, Project, Url, WithSession
from domain.json_text import JsonValue, NotJson, parse

commands = typer.Typer()


@commands.command("approvals")
def approvals_command(
    gate: MaybeGate = None,
    session: WithSession = None,
    approve: Annotated[bool, typer.Option("--approve", help="Let it be done.")] = False,
    deny: Annotated[bool, typer.Option("--deny", help="Let it not be done.")] = False,
    answer: Annotated[
        str | None,
        typer.Option(
            "--answer", metavar="VALUE", help="What a question is answered: JSON, else a text."
        ),
    ] = None,
    message: Annotated[
        str | None, typer.Option("--message", help="Words for the model, as why it is denied.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=200, help="How many at most.")] = 50,
    project: Project = "default",
    url: Url = None,
    as_json: Json = False,
) -> None:
    """List what waits for an answer, oldest first; show one gate, or answer it.

    What is decided without --url is recorded in the database, and the server that runs the turn, or
    the next one that starts, goes on with it.
    """
    from api.cli.approving import decide, show_one, show_waiting
    from api.cli.wanted import DecisionWanted

    said = [
        verdict
        for verdict, given in (
            ("approved", approve),
            ("denied", deny),
            ("answered", answer is not None),
        )
        if given
    ]
    if len(said) > 1 or (said and gate is None) or (message is not None and not said):
        sentence = "name a gate and one of --approve, --deny and --answer"
        raise Failure("usage", sentence, failures.UNFIT)
    if gate is None:
        show_waiting(project, url, session, limit, as_json=as_json)
    elif not said:
        show_one(project, url, gate, as_json=as_json)
    else:
        told = None if answer is None else _parsed(answer)
        wanted = DecisionWanted(verdict=said[0], answer=told, message=message)
        end(decide(project, url, gate, wanted, as_json=as_json))


def _parsed(text: str) -> JsonValue:
    """Return what is JSON; what is none is a text."""
    try:
        return parse(text.encode(errors="surrogateescape"))
    except NotJson:
        return text
