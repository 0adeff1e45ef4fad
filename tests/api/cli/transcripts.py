"""Which transcripts do tests of the command line import?"""

import json
from importlib.resources import files
from pathlib import Path

SESSION = "5f0d8a3e-6c1b-4a57-9b0e-2d41c7f8a960"
SAMPLE = files("infrastructure").joinpath("samples", "claude-code-session.jsonl").read_bytes()


def sample(folder: Path, lines: int | None = None) -> Path:
    """Write the sample, or its first lines, into a folder."""
    path = folder / f"{SESSION}.jsonl"
    path.write_bytes(b"".join(SAMPLE.splitlines(keepends=True)[:lines]))
    return path


def written(folder: Path, session_id: str, said: str, output: str = "done") -> Path:
    """Write a short session in which the user says something and a tool answers."""
    common = {"sessionId": session_id, "isSidechain": False, "version": "2.0"}
    call = {"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "x" * 300}}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": output}
    lines: list[dict[str, object]] = [
        {"type": "user", "uuid": "u1", "parentUuid": None, "message": _message("user", said)},
        {
            "type": "assistant",
            "uuid": "u2",
            "parentUuid": "u1",
            "message": _message("assistant", [call]) | {"id": "m1"},
        },
        {"type": "user", "uuid": "u3", "parentUuid": "u2", "message": _message("user", [result])},
    ]
    path = folder / f"{session_id}.jsonl"
    stamped = [common | {"timestamp": "2026-01-01T00:00:00.000Z"} | line for line in lines]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in stamped))
    return path


def _message(role: str, content: object) -> dict[str, object]:
    return {"role": role, "content": content}
