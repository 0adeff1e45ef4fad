"""Is the process alive, ready, of which version, and what does a problem mean?"""

from html import escape
from importlib.metadata import version
from typing import Final

from fastapi import APIRouter, Request, Response
from sqlalchemy import select

from api.async_views import through
from api.batches import EVENT_LIMIT, EVENTS_LIMIT
from api.body import REQUEST_LIMIT
from api.dependencies import Log, the_log
from api.errors import UNREACHABLE
from api.event_bodies import EVENT_BODIES
from api.problems import TYPES, ProblemError
from api.recovering import is_recovering
from domain.decide import SESSION_LIMIT
from domain.raw_json import dumped
from domain.registry import KINDS
from infrastructure import tables as t
from infrastructure.blobs import BLOB_LIMIT

router = APIRouter(tags=["operations"])
MEDIA: Final = "application/json"


@router.get("/healthz")
async def health() -> Response:
    """Tell that the process answers."""
    return Response(b'{"status":"ok"}', media_type=MEDIA)


@router.get("/readyz", responses={503: {"description": "It cannot serve; `status` says why."}})
async def process_readiness(request: Request) -> Response:
    """Tell whether the process can serve: the database answers, and nobody asked it to stop.

    A view that is behind the log is told, and is no reason not to serve; nor is `recovering`: what
    a killed server left is being taken up, reads are served, and requests for turns wait.
    """
    try:
        log = await the_log(request)
        views = await log.read(
            lambda db: {name: through(log, db, name) for name in log.following.names}
        )
    except ProblemError:
        return Response(b'{"status":"stopping"}', status_code=503, media_type=MEDIA)
    except UNREACHABLE:
        return Response(b'{"status":"no-database"}', status_code=503, media_type=MEDIA)
    details = {name: lag | {"failing": log.following.failing(name)} for name, lag in views.items()}
    shape = {"status": "ok", "recovering": is_recovering(request), "views": details}
    return Response(dumped(shape), media_type=MEDIA)


@router.get("/v1/info")
async def info(log: Log) -> Response:
    """Tell which turnlog this is, what it can store, and its limits."""
    row = await log.read(lambda connection: connection.execute(select(t.store)).one())
    shape = {
        "name": "turnlog",
        "version": version("turnlog"),
        "database": log.database.kind,
        "embedded": log.settings.embedded,
        "store_id": row.store_id,
        "incarnation": row.incarnation,
        "event_types": {
            name: {
                "schema": kind.schema,
                "affects": kind.affects,
                "producible": name in EVENT_BODIES,
            }
            for name, kind in KINDS.items()
        },
        "limits": {
            "events_per_session": SESSION_LIMIT,
            "events_per_batch": EVENTS_LIMIT,
            "bytes_per_event": EVENT_LIMIT,
            "bytes_per_request": REQUEST_LIMIT,
            "bytes_per_blob": BLOB_LIMIT,
            "json_depth": 100,
        },
        "policy": {
            "allow_unverified_turns": log.settings.allow_unverified_turns,
            "require_agreement": log.settings.require_agreement,
        },
    }
    return Response(dumped(shape), media_type=MEDIA)


@router.get("/problems", include_in_schema=False)
async def problem_index() -> Response:
    """List every problem."""
    rows = "".join(
        f'<li><a href="/problems/{code}">{code}</a> {kind.status} {escape(kind.title)}</li>'
        for code, kind in sorted(TYPES.items())
    )
    return _page("Problems", f"<ul>{rows}</ul>")


@router.get("/problems/{code}", include_in_schema=False)
async def problem_page(code: str) -> Response:
    """Explain one problem."""
    kind = TYPES.get(code)
    if kind is None:
        raise ProblemError("not-found", "there is no such problem")
    return _page(
        kind.title,
        f"<p><code>{code}</code>, status {kind.status}.</p><p>{escape(kind.when)}</p>"
        f"<p>What a client does: <code>{kind.action}</code>.</p>",
    )


def _page(title: str, body: str) -> Response:
    page = (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        "<style>:root{color-scheme:light dark}body{font:1rem/1.5 system-ui;max-width:40rem;"
        "margin:2rem auto;padding:0 1rem}</style>"
        f"<title>{escape(title)} - turnlog</title><h1>{escape(title)}</h1>{body}</html>"
    )
    return Response(page, media_type="text/html; charset=utf-8")
