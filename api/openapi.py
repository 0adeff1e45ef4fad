"""What does the description of the interface say beyond what the routes say by themselves?

What a success is, one shape for every problem, the body of each event type, and names for all
schemas.
"""

from typing import Any, Final, TypeAlias, cast, get_args

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic.json_schema import models_json_schema

from api.answers import SCHEMAS, describe
from api.event_bodies import EVENT_BODIES
from api.problems import MEDIA_TYPE, TYPES, Action

Json: TypeAlias = dict[str, Any]
_REFERENCE: Final = "#/components/schemas/{model}"

PROBLEM: Final[Json] = {
    "type": "object",
    "description": "RFC 9457 problem details; `type` is a page that explains the reason.",
    "required": ["type", "title", "status", "detail", "code", "action"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "code": {"type": "string", "enum": sorted(TYPES)},
        "action": {"type": "string", "enum": list(get_args(Action))},
        "retry_after_s": {"type": "integer"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["pointer", "detail"],
                "properties": {
                    "pointer": {"type": "string", "description": "A JSON pointer, RFC 6901."},
                    "detail": {"type": "string"},
                },
            },
        },
    },
}
PROBLEM_RESPONSE: Final[Json] = {
    "description": "A problem; its `code` says which.",
    "content": {MEDIA_TYPE: {"schema": {"$ref": _REFERENCE.format(model="Problem")}}},
}


class Described(FastAPI):
    """An application that says all of this."""

    def openapi(self) -> Json:
        """Return the OpenAPI document, made once."""
        if self.openapi_schema is None:
            self.openapi_schema = _document(self)
        return self.openapi_schema


def _document(app: FastAPI) -> Json:
    made = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes
    )
    schemas: Json = made.setdefault("components", {}).setdefault("schemas", {})
    for operation in _operations(made):
        _name_body(operation, schemas)
        describe(operation)
        _tell_of_problems(operation)
        if any(p["name"] == "if-none-match" for p in operation.get("parameters", [])):
            held = {"description": "The caller holds this answer already."}
            operation["responses"].setdefault("304", held)
    _name_events(schemas)
    for own in ("HTTPValidationError", "ValidationError"):
        schemas.pop(own, None)
    schemas |= {"Problem": PROBLEM, **SCHEMAS}
    return made


def _tell_of_problems(operation: Json) -> None:
    """Say one shape for every problem, also where FastAPI would tell values in its own."""
    operation["responses"].pop("422", None)
    operation["responses"]["default"] = PROBLEM_RESPONSE


def _operations(made: Json) -> list[Json]:
    paths: dict[str, dict[str, Json]] = made["paths"]
    return [operation for path in paths.values() for operation in path.values()]


def _name_body(operation: Json, schemas: Json) -> None:
    for content in operation.get("requestBody", {}).get("content", {}).values():
        schema = content.get("schema", {})
        schemas |= schema.pop("$defs", {})
        if "properties" in schema:
            schemas[schema["title"]] = schema
            content["schema"] = {"$ref": _REFERENCE.format(model=schema["title"])}


def _name_events(schemas: Json) -> None:
    """Say for each type what its data are, where the model of an event says an object."""
    models = [(model, "validation") for model in EVENT_BODIES.values()]
    _, found = models_json_schema(cast("Any", models), ref_template=_REFERENCE)
    schemas |= found["$defs"]
    event = schemas["EventBody"]
    schemas["EventBody"] = {
        "description": event["description"],
        "oneOf": [
            {
                "type": "object",
                "additionalProperties": False,
                "required": ["type", "data"],
                "properties": event["properties"]
                | {
                    "type": {"const": name},
                    "data": {"$ref": _REFERENCE.format(model=model.__name__)},
                },
            }
            for name, model in EVENT_BODIES.items()
        ],
    }
