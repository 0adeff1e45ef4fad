"""An agent that asks before it deploys, and ends its prompt without waiting for an answer."""

import json
import sys
from threading import Event
from typing import Any

PATIENCE_S = 1.5


def send(**message: Any) -> None:  # noqa: ANN401 - JSON
    """Write a message."""
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def ask(session_id: str) -> None:
    """Ask, and wait a while."""
    call = {"toolCallId": "call-1", "title": "deploy", "kind": "other", "rawInput": {"to": "here"}}
    option = {"optionId": "yes", "name": "Yes", "kind": "allow_once"}
    asked = {"sessionId": session_id, "toolCall": call, "options": [option]}
    send(id="asked", method="session/request_permission", params=asked)
    Event().wait(PATIENCE_S)


def main() -> None:
    """Speak the protocol until the end of the input."""
    prompts = 0
    for line in sys.stdin:
        message = json.loads(line)
        match message.get("method"):
            case "initialize":
                send(id=message["id"], result={"protocolVersion": 1, "agentCapabilities": {}})
            case "session/new":
                send(id=message["id"], result={"sessionId": "session"})
            case "session/prompt":
                prompts += 1
                if message["params"]["prompt"][-1]["text"] == "Deploy":
                    ask("session")
                said = {"sessionUpdate": "agent_message_chunk"}
                update = {**said, "content": {"type": "text", "text": f"Said {prompts}."}}
                send(method="session/update", params={"sessionId": "session", "update": update})
                send(id=message["id"], result={"stopReason": "end_turn"})
            case _:
                pass


if __name__ == "__main__":
    main()
