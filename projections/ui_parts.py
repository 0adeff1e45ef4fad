"""How are files, arguments and approvals written in AI SDK UIMessages?"""

from typing import Final

from domain.json_text import NotJson, parse
from domain.messages import Part
from domain.raw_json import RawJson
from projections.openai_parts import arguments_text, text_of

_MEDIA: Final = "application/octet-stream"


def file_part(part: Part) -> dict[str, object] | None:
    """Return a file that is stored inline as a part with a data URL, or None."""
    data = text_of(part, "data")
    if part.get("type") != "attachment" or not data:
        return None
    media_type = text_of(part, "media_type") or _MEDIA
    shape: dict[str, object] = {
        "type": "file",
        "mediaType": media_type,
        "url": f"data:{media_type};base64,{data}",
    }
    if filename := text_of(part, "filename"):
        shape["filename"] = filename
    return shape


def input_of(part: Part) -> object:
    """Return a call's arguments as the JSON that they are, written as it came; else as text."""
    text = arguments_text(part)
    if text is None:
        return {}
    return RawJson(text.encode()) if _is_object(text) else text


def approval_of(part: Part) -> dict[str, object] | None:
    """Return the approval that a call's gate is, with the answer if there is one."""
    match part.get("gate"):
        case {"gate_id": str(gate_id), "status": "open"}:
            return {"id": gate_id}
        case {"gate_id": str(gate_id), "status": "allowed" | "answered"}:
            return {"id": gate_id, "approved": True}
        case {"gate_id": str(gate_id), "status": "denied" | "denied-by-policy"}:
            return {"id": gate_id, "approved": False}
        case _:
            return None


def _is_object(text: str) -> bool:
    try:
        return isinstance(parse(text.encode("utf-8", "surrogatepass")), dict)
    except NotJson:
        return False
