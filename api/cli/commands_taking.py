"""Which commands serve, and bring sessions in and out?"""

from pathlib import Path
from typing import Annotated, Literal

import typer

from api.cli.failures import end
from api.cli.options import Json, Output, Project, Session, Url

commands = typer.Typer()


@commands.command("demo")
def demo_command(
    port: Annotated[
        int | None, typer.Option("--port", min=0, max=65535, help="8765, or any that is free.")
    ] = None,
    serve: Annotated[
        bool, typer.Option("--serve/--no-serve", help="Whether to serve it as well.")
    ] = True,
    as_json: Json = False,
) -> None:
    """Import a sample session, serve it, and say what to open or type next."""
    from api.cli.demo import demo

    demo(port, serve=serve, as_json=as_json)


@commands.command("serve")
def serve_command(
    host: Annotated[str, typer.Option("--host", help="A loopback address.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="0 is any that is free.")
    ] = 8765,
    as_json: Json = False,
) -> None:
    """Serve the REST interface on this machine until Ctrl-C or SIGTERM."""
    from api.cli.serving import serve

    serve(host, port, as_json=as_json)


@commands.command("import")
def import_command(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", help="Files, and folders of .jsonl files.")
    ],
    format_: Annotated[
        Literal["auto", "claude-code", "openai-chat", "codex", "ui-messages", "rows", "turnlog"],
        typer.Option("--format", help="auto: each file says it by its content."),
    ] = "auto",
    on_conflict: Annotated[
        Literal["refuse", "fork", "skip"],
        typer.Option("--on-conflict", help="What to do if the session went on here."),
    ] = "refuse",
    project: Project = "default",
    as_json: Json = False,
) -> None:
    """Import transcripts, newest files first; what is known already is not imported again.

    Claude Code sessions lie in ~/.claude/projects. A report says what was lost.
    """
    from api.cli.importing import Wanted, import_paths

    wanted = Wanted(project=project, format=format_, on_conflict=on_conflict)
    end(import_paths(paths, wanted, as_json=as_json))


@commands.command("blob")
def blob_command(
    digest: Annotated[str, typer.Argument(metavar="SHA256", help="As a transcript names it.")],
    file: Output = None,
    project: Project = "default",
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Give back a file that was attached, or the whole of a long text."""
    from api.cli.exporting import blob

    blob(project, url, digest, file, as_json=as_json)


@commands.command("export")
def export_command(
    session: Session,
    file: Output = None,
    project: Project = "default",
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Export a session as canonical JSON Lines, which import takes back byte for byte."""
    from api.cli.exporting import export

    export(project, url, session, file, as_json=as_json)
