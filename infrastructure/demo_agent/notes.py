"""What did the model see, and which tools ran? Written down for tests, a line each.

Lines are canonical JSON and written at once, so that several processes can share a file.
"""

import os
from pathlib import Path

from domain.canonical import canonical
from infrastructure.demo_agent.brain import Call
from infrastructure.demo_agent.memory import Memory


class Notes:
    """Appends what happens in one conversation, called `session`, to files."""

    def __init__(self, session: str, record: Path | None, calls: Path | None) -> None:
        """Note nothing where there is no file."""
        self._session = session
        self._record = record
        self._calls = calls

    def model_called(self, memory: Memory) -> None:
        """Note what the model sees."""
        if self._record is not None:
            named = canonical(self._session)
            _append(self._record, b'{"messages":%b,"session":%b}\n' % (memory.written(), named))

    def tool_ran(self, call: Call) -> None:
        """Note a call as it is made."""
        if self._calls is not None:
            made = canonical(
                {
                    "session": self._session,
                    "tool_call_id": call.tool_call_id,
                    "name": call.name,
                    "arguments": call.arguments,
                }
            )
            _append(self._calls, made + b"\n")


def _append(path: Path, line: bytes) -> None:
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(file, line)
    finally:
        os.close(file)
