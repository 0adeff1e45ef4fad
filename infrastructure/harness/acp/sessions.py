"""How is a conversation begun with an agent: where it works, what it remembers, how it is set up?

Never by `session/load`: what agents replay leaves things out. The log is the only history.
"""

from domain.json_text import JsonValue
from infrastructure.harness.acp.blocks import text_block
from infrastructure.harness.acp.conversation import AcpHarness, Leaving
from infrastructure.harness.acp.fields import EXTENSION, Object, member, objects, text
from infrastructure.harness.acp.frames import context, history
from infrastructure.harness.acp.link import Link
from infrastructure.harness.port import HarnessFailed, RecordedCall, Start


async def begin(link: Link, start: Start, folder: str, leave: Leaving) -> AcpHarness:
    """Return a new conversation.

    Raises:
        HarnessFailed: the agent begins none.
    """
    config = link.definition.config if start.config is None else start.config
    messages = [] if start.seed is None else [dict(message) for message in start.seed.messages]
    params: Object = {"cwd": folder, "mcpServers": []}
    meta: Object = {}
    if start.recorded is not None:
        if not link.replays_calls:
            detail = f"{link.name} cannot be given what its tools gave before"
            raise HarnessFailed("cannot-replay-calls", detail)
        meta[f"{EXTENSION}/recorded"] = [*map(_recorded, start.recorded)]
    if link.takes_history:
        meta |= {
            f"{EXTENSION}/session": start.session_id,
            f"{EXTENSION}/history": list[JsonValue](messages),
            f"{EXTENSION}/config": config,
        }
        if start.context is not None:
            meta[f"{EXTENSION}/context"] = start.context
    if meta:
        params["_meta"] = meta
    said = await link.starting("session_new", params)
    session_id = text(said, "sessionId")
    if session_id is None or link.holds(session_id):
        raise HarnessFailed("start-failed", "the agent gave no new session")
    model = await _set_up(link, session_id, said, config if isinstance(config, dict) else {})
    first: list[Object] = []
    if start.context is not None and not link.takes_history:
        first.append(text_block(context(start.context)))
    if start.seed is not None and messages and not link.takes_history:
        first.append(text_block(history(start.seed)))
    return AcpHarness(link, session_id, model=model, first=first, leave=leave)


def _recorded(call: RecordedCall) -> JsonValue:
    return {
        "name": call.name,
        "arguments": call.arguments,
        "output": call.output,
        "is_error": call.is_error,
        "denied": call.denied,
    }


async def _set_up(link: Link, session_id: str, said: Object, config: Object) -> str:
    """Set what the agent lets one set and the configuration says; return the model's name."""
    model = text(member(said, "models"), "currentModelId")
    options = objects(said, "configOptions")
    for option in options:
        option_id = text(option, "id") or ""
        now, wanted = option.get("currentValue"), config.get(option_id)
        if isinstance(wanted, str | bool) and wanted != now:
            params: Object = {"sessionId": session_id, "configId": option_id, "value": wanted}
            if isinstance(wanted, bool):
                params["type"] = "boolean"
            await link.starting("session_set_config_option", params)
            now = wanted
        if "model" in {option_id, text(option, "category")} and isinstance(now, str):
            model = now
    await _set_mode(link, session_id, member(said, "modes"), config.get("mode"))
    return model or link.name


async def _set_mode(link: Link, session_id: str, modes: Object, wanted: JsonValue) -> None:
    offered = [text(mode, "id") for mode in objects(modes, "availableModes")]
    if isinstance(wanted, str) and wanted in offered and wanted != modes.get("currentModeId"):
        await link.starting("session_set_mode", {"sessionId": session_id, "modeId": wanted})
