"""What are the descriptions of answers made of?"""

from typing import Any, Final, TypeAlias

Json: TypeAlias = dict[str, Any]
Answers: TypeAlias = dict[str, tuple[str, Json | None]]  # by the operation: words, and a schema
TEXT: Final[Json] = {"type": "string"}
NUMBER: Final[Json] = {"type": "integer"}
FLAG: Final[Json] = {"type": "boolean"}
ANY: Final[Json] = {}
OBJECT: Final[Json] = {"type": "object"}
OBJECTS: Final[Json] = {"type": "array", "items": OBJECT}
MAYBE: Final[Json] = {"type": ["string", "null"]}
MAYBE_NUMBER: Final[Json] = {"type": ["integer", "null"]}
TIME: Final[Json] = {"type": "string", "format": "date-time"}
ADDRESS: Final[Json] = {
    "lane_id": {
        "type": "string",
        "description": "The lane that the turn came by; left out where it came by none.",
    },
    "reply_to": {"type": "string", "description": "The message there that the turn answers."},
}
BY_LANE: Final[Json] = {
    "session_id": {"type": "string", "description": "The session, of what came by a lane."},
    "lane_reason": {"type": "string", "description": "Why it is this session."},
    "created": {"type": "boolean", "description": "Whether the session was opened for it."},
    "previous_session_id": {"type": "string", "description": "The lane's session before."},
}
FRAME: Final[Json] = {
    "type": "object",
    "description": "A frame; its `data` is JSON.",
    "properties": {"id": TEXT, "event": TEXT, "data": TEXT},
}


def named(name: str) -> Json:
    """Return a reference to the schema of this name."""
    return {"$ref": f"#/components/schemas/{name}"}


def list_of(name: str) -> Json:
    """Return a list of what the schema of this name describes."""
    return {"type": "array", "items": named(name)}


def shape(**members: Json) -> Json:
    """Return an object that has all of these."""
    return {"type": "object", "required": [*members], "properties": members}


def optional(**members: Json) -> Json:
    """Return an object that may have these."""
    return {"type": "object", "properties": members}


def extended(of: Json, **members: Json) -> Json:
    """Return an object that may have these as well."""
    return {**of, "properties": {**of["properties"], **members}}


HEAD: Final = {"head": named("Head")}
STANDS: Final = {**HEAD, "readiness": named("Readiness"), "through_version": NUMBER}
STATUS: Final[Json] = {
    "type": "string",
    "enum": ["open", "suspended", "archived", "deleted"],
}
