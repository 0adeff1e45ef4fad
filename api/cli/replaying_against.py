"""`turnlog replay --against HARNESS`: what would another harness do at the same inputs?

What it does stands beside what was recorded, input by input, with the first difference. Nothing is
recorded.
"""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from functools import partial

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from api.cli import failures
from api.cli.failures import DONE, NOT_SO, Failure
from api.cli.output import say, show, terminal_width, write
from api.cli.source import Source, source
from api.cli.terminal_text import cut, cut_lines, inert
from domain.json_text import JsonValue, dump, parse
from domain.raw_json import dumped
from infrastructure.harness.acp.harnesses import open_harnesses
from infrastructure.harness.port import Harnesses, HarnessFailed, Seed, Start
from infrastructure.rerunning import Again, Tools, recorded_calls, run_again
from infrastructure.settings import load
from projections.rerun import Exchange, Pair, Step, compare, exchanges, first_difference

LINES = 8
_SIGNS = {"same": " ", "differs": "~", "missing": "-", "extra": "+"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rerun:
    """What is to be done again, and by whom.

    Attributes:
        first: The turn to begin with; the harness is told what came before.
        limit: How many inputs at most.
    """

    harness: str
    tools: Tools
    first: str | None = None
    limit: int | None = None
    workspace: str | None = None


def replay_against(
    project: str, url: str | None, session_id: str, rerun: Rerun, *, as_json: bool
) -> int:
    """Have a harness answer the inputs of a session; return the exit code.

    Raises:
        Failure: there is no such harness or turn, or it could not be started.
    """
    settings = load()
    if rerun.harness not in settings.harnesses:
        known = ", ".join(settings.harnesses)
        sentence = f"no harness of this name is defined; there are: {known}"
        raise Failure("unknown-harness", sentence, failures.UNFIT)
    with source(project, url) as found:
        session = parse(found.session(session_id))
        every = [
            parse(message)
            for message in found.messages(session_id, at=None, newest=None, archived=True)
        ]
        messages = [message for message in every if isinstance(message, dict)]
        before, inputs = _parted(messages, rerun)
        start = Start(
            project_id=project,
            session_id=session_id,
            harness=rerun.harness,
            config=_config(session),
            workspace=rerun.workspace,
            seed=Seed(messages=before) if before else None,
            recorded=recorded_calls(inputs) if rerun.tools == "recorded" else None,
        )
        return asyncio.run(_compared(found, start, inputs, rerun.tools, as_json=as_json))


async def _compared(
    found: Source, start: Start, inputs: Sequence[Exchange], tools: Tools, *, as_json: bool
) -> int:
    differing: list[tuple[Exchange, Pair]] = []
    ended: Again | None = None
    try:
        async with (
            _harnesses() as harnesses,
            aclosing(run_again(harnesses, start, inputs, tools, partial(_content, found))) as runs,
        ):
            async for again in runs:
                ended = again
                pairs = compare(again.exchange.steps, again.steps)
                first = first_difference(pairs)
                if first is not None:
                    differing.append((again.exchange, first))
                if as_json:
                    write(_json(again, pairs) + b"\n")
                else:
                    show(*_text(again, pairs))
    except HarnessFailed as failed:
        raise Failure(failed.code, failed.detail) from failed
    if not as_json:
        say(_summary(inputs, differing, ended))
    whole = ended is None or ended.exchange is inputs[-1]
    return NOT_SO if differing or not whole else DONE


@asynccontextmanager
async def _harnesses() -> AsyncGenerator[Harnesses]:
    settings = load()
    opened = await open_harnesses(
        settings.harnesses, default=settings.default_harness, state=settings.state_folder()
    )
    try:
        yield opened
    finally:
        await opened.close()


def _parted(
    messages: Sequence[Mapping[str, JsonValue]], rerun: Rerun
) -> tuple[list[Mapping[str, JsonValue]], list[Exchange]]:
    """Return what the harness is told at its start, and what it is to answer."""
    start = 0
    if rerun.first is not None:
        places = [n for n, each in enumerate(messages) if each.get("turn_id") == rerun.first]
        if not places:
            raise Failure("no-such-turn", "the session has no such turn in sight")
        start = places[0]
    before = [message for message in messages[:start] if message.get("state") == "live"]
    return before, exchanges(messages[start:])[: rerun.limit]


def _config(session: JsonValue) -> JsonValue:
    """Return a session's configuration but for what is this machine's: which harness, and where."""
    config = session.get("config") if isinstance(session, dict) else None
    if not isinstance(config, dict):
        return None
    return {name: config[name] for name in config if name not in {"harness", "workspace"}}


def _content(found: Source, digest: str) -> bytes | None:
    try:
        return b"".join(found.blob(digest))
    except Failure:
        return None


def _json(again: Again, pairs: Sequence[Pair]) -> bytes:
    first = first_difference(pairs)
    return dumped(
        {
            "turn_id": again.exchange.turn_id,
            "message_id": again.exchange.message_id,
            "same": first is None,
            "first_difference": None if first is None else first.shape(),
            "ended": again.ended,
            "steps": [pair.shape() for pair in pairs],
        }
    )


def _text(again: Again, pairs: Sequence[Pair]) -> Iterator[RenderableType]:
    width = terminal_width()
    asked = " ".join(str(part.get("text", "")) for part in again.exchange.parts)
    yield Text(cut(inert(f"{again.exchange.turn_id}: {' '.join(asked.split())}"), width), "bold")
    table = Table.grid(padding=(0, 1))
    table.add_row("", Text("recorded", "dim"), Text("again", "dim"))
    column = (width - 4) // 2
    for pair in pairs:
        colour = "" if pair.how == "same" else "red"
        row = (_lines(step, column, colour) for step in (pair.recorded, pair.again))
        table.add_row(Text(_SIGNS[pair.how], colour), *row)
    yield table
    if again.ended != "completed":
        yield Text(f"ended: {again.ended}", "red")


def _lines(step: Step | None, width: int, colour: str) -> Text:
    if step is None:
        return Text("")
    value = step.value if isinstance(step.value, str) else dump(step.value).decode()
    told = {"said": "", "called": f"{step.name} <- ", "gave": f"{step.name} -> "}[step.kind]
    return Text("\n".join(cut_lines(f"{told}{value}", width, LINES)), colour)


def _summary(
    inputs: Sequence[Exchange],
    differing: Sequence[tuple[Exchange, Pair]],
    ended: Again | None,
) -> str:
    if ended is None:
        return "the session has no input to answer"
    if not differing:
        return f"{len(inputs)} inputs: the same"
    exchange, pair = differing[0]
    what = pair.what or pair.how
    return f"{len(differing)} of {len(inputs)} differ; first at {exchange.turn_id}: {what}"
