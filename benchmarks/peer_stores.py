"""How does each store of agents' sessions keep a turn of four items, in its own best way?

The same text for all: a question, a tool call, its result, an answer, of about 400 bytes each. Each
store has a SQLite file of its own and the settings that it makes for itself. What is not installed
is not there.
"""

import importlib
import importlib.util
import json
import sqlite3
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

from log import TEXT, Ours, turn

sys.path.insert(0, str(Path(__file__).parent.parent))

ITEMS_A_TURN: Final = 4
ARGUMENTS: Final = {"path": TEXT[:300]}


class Store(Protocol):
    """Where sessions are kept; one of them is open."""

    async def open(self, session: str, turns: int) -> None:
        """Go to a new session, and fill it with so many turns, however is quickest."""
        ...

    async def append(self, number: int) -> None:
        """Append turn `number` to the session, durably."""
        ...

    async def read(self) -> int:
        """Read the whole history of the session; return how many items it has."""
        ...

    async def close(self) -> None:
        """Let go."""
        ...


def whole_turn(number: int) -> list[tuple[str, bytes]]:
    """Return four items and the end of their turn, as turnlog takes them."""
    answer = {"turn_id": f"turn-{number}", "message": {"role": "assistant", "content": TEXT}}
    *items, end = turn(number)
    del end
    completed = {"turn_id": f"turn-{number}", "stop_reason": "end_turn", "record_count": 4}
    return [
        *items,
        ("message-recorded", json.dumps(answer).encode()),
        ("turn-completed", json.dumps(completed).encode()),
    ]


class TurnlogStore:
    """turnlog: five events a turn, every rule checked and every inline view current."""

    def __init__(self, path: Path) -> None:
        self._ours = Ours(f"sqlite:///{path}", whole_turn)

    async def open(self, session: str, turns: int) -> None:
        self._ours.go_to(session)
        for number in range(1, turns + 1):
            self._ours.append(number)

    async def append(self, number: int) -> None:
        self._ours.append(number)

    async def read(self) -> int:
        return len(json.loads(self._ours.read()))

    async def close(self) -> None:
        self._ours.close()


class TurnlogJsonStore(TurnlogStore):
    """The same, read as the JSON that is sent on: no object is made of it."""

    async def read(self) -> int:
        return self._ours.read().count(b'"index":')


class OpenAISqlite:
    """OpenAI Agents' `SQLiteSession`: one `add_items` a turn."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._session: Any = None

    async def open(self, session: str, turns: int) -> None:
        await self._let_go()
        self._session = self._make(session)
        await self._session.add_items(
            [item for number in range(1, turns + 1) for item in response_items(number)]
        )

    async def append(self, number: int) -> None:
        await self._session.add_items(response_items(number))

    async def read(self) -> int:
        return len(await self._session.get_items())

    async def close(self) -> None:
        await self._let_go()

    def _make(self, session: str) -> object:
        return importlib.import_module("agents").SQLiteSession(session, self._path)

    async def _let_go(self) -> None:
        if self._session is not None:
            self._session.close()


class OpenAISqlAlchemy(OpenAISqlite):
    """OpenAI Agents' `SQLAlchemySession` over aiosqlite: one `add_items` a turn."""

    def _make(self, session: str) -> object:
        memory = importlib.import_module("agents.extensions.memory")
        return memory.SQLAlchemySession.from_url(
            session, url=f"sqlite+aiosqlite:///{self._path}", create_tables=True
        )

    async def _let_go(self) -> None:
        if self._session is not None:
            await self._session.engine.dispose()


class AdkDatabase:
    """Google ADK's `DatabaseSessionService` over aiosqlite: `append_event` for each item."""

    def __init__(self, path: Path) -> None:
        sessions = importlib.import_module("google.adk.sessions")
        self._service: Any = sessions.DatabaseSessionService(f"sqlite+aiosqlite:///{path}")
        self._session: Any = None

    async def open(self, session: str, turns: int) -> None:
        self._session = await self._service.create_session(
            app_name="bench", user_id="user", session_id=session
        )
        for number in range(1, turns + 1):
            await self.append(number)

    async def append(self, number: int) -> None:
        for event in adk_events(number):
            await self._service.append_event(self._session, event)

    async def read(self) -> int:
        found = await self._service.get_session(
            app_name="bench", user_id="user", session_id=self._session.id
        )
        return len(found.events)

    async def close(self) -> None:
        await self._service.close()


class LangGraphSqlite:
    """LangGraph's `SqliteSaver`: a graph of three nodes runs, checkpointed after each of them."""

    durability = "sync"

    def __init__(self, path: Path) -> None:
        saver = importlib.import_module("langgraph.checkpoint.sqlite").SqliteSaver
        graph = importlib.import_module("langgraph.graph")
        self._number = 0
        self._connection = sqlite3.connect(path, check_same_thread=False)
        builder = graph.StateGraph(graph.MessagesState)
        for place, name in enumerate(("asks", "runs", "answers"), 1):
            builder.add_node(name, self._node(place))
        for one, other in (("__start__", "asks"), ("asks", "runs"), ("runs", "answers")):
            builder.add_edge(one, other)
        self._graph: Any = builder.compile(checkpointer=saver(self._connection))
        self._config: dict[str, object] = {}

    async def open(self, session: str, turns: int) -> None:
        self._config = {"configurable": {"thread_id": session}}
        said = [said for number in range(1, turns + 1) for said in langchain_messages(number)]
        if said:
            self._graph.update_state(self._config, {"messages": said}, as_node="answers")

    async def append(self, number: int) -> None:
        self._number = number
        asked = {"messages": langchain_messages(number)[:1]}
        self._graph.invoke(asked, self._config, durability=self.durability)

    async def read(self) -> int:
        return len(self._graph.get_state(self._config).values["messages"])

    async def close(self) -> None:
        self._connection.close()

    def _node(self, place: int) -> Callable[[object], dict[str, object]]:
        def node(state: object) -> dict[str, object]:
            del state
            return {"messages": [langchain_messages(self._number)[place]]}

        return node


class LangGraphExit(LangGraphSqlite):
    """The same, checkpointed at the end of the run only: LangGraph at its best."""

    durability = "exit"


def response_items(number: int) -> list[dict[str, object]]:
    """Return a turn as OpenAI's Responses API has it."""
    call = f"call-{number}"
    said: dict[str, object] = {"type": "output_text", "text": TEXT, "annotations": list[object]()}
    return [
        {"role": "user", "content": TEXT},
        {
            "type": "function_call",
            "call_id": call,
            "name": "read",
            "arguments": json.dumps(ARGUMENTS),
        },
        {"type": "function_call_output", "call_id": call, "output": TEXT},
        {"type": "message", "role": "assistant", "status": "completed", "content": [said]},
    ]


def adk_events(number: int) -> Sequence[object]:
    """Return a turn as ADK has it."""
    event: Any = importlib.import_module("google.adk.events").Event
    types: Any = importlib.import_module("google.genai.types")
    call = f"call-{number}"
    parts: Sequence[tuple[str, str, Mapping[str, object]]] = [
        ("user", "user", {"text": TEXT}),
        ("agent", "model", {"function_call": {"id": call, "name": "read", "args": ARGUMENTS}}),
        (
            "agent",
            "user",
            {"function_response": {"id": call, "name": "read", "response": {"result": TEXT}}},
        ),
        ("agent", "model", {"text": TEXT}),
    ]
    return [
        event(
            author=author,
            invocation_id=f"turn-{number}",
            content=types.Content(role=role, parts=[types.Part(**part)]),
        )
        for author, role, part in parts
    ]


def langchain_messages(number: int) -> list[object]:
    """Return a turn as LangChain has it."""
    messages: Any = importlib.import_module("langchain_core.messages")
    call = {"id": f"call-{number}", "name": "read", "args": ARGUMENTS}
    return [
        messages.HumanMessage(TEXT, id=f"{number}-1"),
        messages.AIMessage("", tool_calls=[call], id=f"{number}-2"),
        messages.ToolMessage(TEXT, tool_call_id=f"call-{number}", id=f"{number}-3"),
        messages.AIMessage(TEXT, id=f"{number}-4"),
    ]


STORES: Final[Mapping[str, tuple[Callable[[Path], Store], tuple[str, ...]]]] = {
    "turnlog": (TurnlogStore, ()),
    "turnlog, read as JSON": (TurnlogJsonStore, ()),
    "OpenAI Agents SQLiteSession": (OpenAISqlite, ("agents",)),
    "OpenAI Agents SQLAlchemySession": (OpenAISqlAlchemy, ("agents", "aiosqlite")),
    "ADK DatabaseSessionService": (AdkDatabase, ("google.adk", "aiosqlite")),
    "LangGraph SqliteSaver, sync": (LangGraphSqlite, ("langgraph.checkpoint.sqlite",)),
    "LangGraph SqliteSaver, exit": (LangGraphExit, ("langgraph.checkpoint.sqlite",)),
}
"""Each store, and the modules that it needs."""


def is_installed(modules: Sequence[str]) -> bool:
    """Tell whether all of them are there."""
    return all(_is_there(name) for name in modules)


def _is_there(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False
