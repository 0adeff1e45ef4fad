"""A tool server as a process of its own: the agent's tools over JSON-RPC, as MCP has it.

`python -m infrastructure.demo_agent.tool_server` answers initialize, tools/list and tools/call
until its input ends.
"""

import json
import sys
from typing import Final

from domain.json_text import JsonValue
from infrastructure.demo_agent.tools import TOOLS, run

_NO_METHOD: Final = -32601


def answer(message: dict[str, JsonValue]) -> dict[str, JsonValue] | None:
    """Return the answer to a message; None for a notification."""
    asked = message.get("id")
    if asked is None:
        return None
    reply: dict[str, JsonValue] = {"jsonrpc": "2.0", "id": asked}
    match message:
        case {"method": "initialize"}:
            reply["result"] = {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "turnlog-demo-tools", "version": "1"},
            }
        case {"method": "tools/list"}:
            reply["result"] = {
                "tools": [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]
            }
        case {"method": "tools/call", "params": {"name": str(name), "arguments": arguments}}:
            outcome = run(name, arguments)
            reply["result"] = {
                "content": [{"type": "text", "text": json.dumps(outcome.output)}],
                "structuredContent": outcome.output,
                "isError": outcome.is_error,
            }
        case _:
            reply["error"] = {"code": _NO_METHOD, "message": "there is no such method"}
    return reply


def main() -> None:
    """Answer each line of the input."""
    for line in sys.stdin:
        reply = answer(json.loads(line))
        if reply is not None:
            sys.stdout.write(json.dumps(reply) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
