"""What does the description of the interface say of the answers that are no problems?

The routes write their answers as bytes, from shapes; these schemas only describe them. Members that
they do not name can come: a reader has to leave alone what it does not know.
"""

from typing import Final

from api.described import course, dispatch, histories, lanes, log, projects, sessions, turns
from api.described.terms import FRAME, Answers, Json

SCHEMAS: Final[dict[str, Json]] = {
    **lanes.SCHEMAS,
    **sessions.SCHEMAS,
    **histories.SCHEMAS,
    **log.SCHEMAS,
    **turns.SCHEMAS,
    **dispatch.SCHEMAS,
    **course.SCHEMAS,
    **projects.SCHEMAS,
}
_OF_THE_PROCESS: Final[Answers] = {
    "Metrics": ("What is counted, as Prometheus reads it.", None),
    "Health": ("The process lives.", None),
    "Process Readiness": ("It can serve; is it `recovering`, how far are its views behind.", None),
    "Info": ("What serves, from which store, with which limits.", None),
}
_ANSWERS: Final[Answers] = {
    **lanes.ANSWERS,
    **sessions.ANSWERS,
    **histories.ANSWERS,
    **log.ANSWERS,
    **turns.ANSWERS,
    **dispatch.ANSWERS,
    **course.ANSWERS,
    **projects.ANSWERS,
    **_OF_THE_PROCESS,
}


def describe(operation: Json) -> None:
    """Say what a success of an operation is, where its route does not."""
    for status, answer in operation["responses"].items():
        if not status.startswith("2") or answer["description"] != "Successful Response":
            continue
        answer["description"], schema = _ANSWERS[operation["summary"]]
        if schema is not None:
            answer["content"] = {"application/json": {"schema": schema}}
        elif answer["description"].startswith("Server-sent"):
            answer["content"] = {"text/event-stream": {"schema": FRAME}}
