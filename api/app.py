"""The HTTP application: everything is wired here, and nowhere else."""

from asyncio import create_task
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from importlib.metadata import version
from typing import Final

from fastapi import FastAPI

from api.asks import queued_ask
from api.errors import add_error_handlers
from api.head import Heads
from api.import_jobs import ImportJobs
from api.metrics import Measured, Metrics
from api.mistakes import Mistakes
from api.neighbours import Neighbours
from api.openapi import Described
from api.routes import (
    accepting,
    agreement,
    approvals,
    approving,
    audit,
    blobs,
    compaction,
    compare,
    deleting,
    diff,
    dispatching,
    errors,
    events,
    explaining,
    export,
    fingerprint,
    forks,
    history,
    hosted_turns,
    imports,
    lane_aliases,
    lane_commands,
    lane_context,
    lane_dispatching,
    lane_messages,
    lane_platforms,
    lane_pruning,
    lane_purging,
    lane_turns,
    lanes,
    metrics,
    operations,
    page,
    pool,
    producers,
    project_events,
    project_turns,
    queue,
    readiness,
    retention,
    runs,
    search,
    sessions,
    settings,
    state,
    subagents,
    transcript,
    turns,
    usage,
    verify,
)
from api.sweeping import sweep, watch_leases
from infrastructure.composition import Turnlog
from infrastructure.harness.port import Harnesses
from infrastructure.hosting.opening import hosting

DESCRIPTION = """
An append-only log of everything that happens in an agent's sessions. Every answer about a session
says through which version it speaks. Errors are RFC 9457 problem documents with a `code` and an
`action`; each code has a page under `/problems`.
"""

ROUTES: Final = (
    sessions,
    deleting,
    hosted_turns,  # what is asked most comes early: routes are looked at in this order
    events,
    transcript,
    turns,
    explaining,
    project_turns,
    queue,
    pool,
    settings,
    lane_aliases,  # before lanes, of which none has this id
    lane_platforms,
    lane_pruning,
    lane_purging,
    lane_messages,
    lane_dispatching,
    lanes,
    lane_context,
    lane_commands,
    lane_turns,
    runs,
    approvals,
    approving,
    fingerprint,
    readiness,
    accepting,
    state,
    diff,
    history,
    forks,
    subagents,
    dispatching,
    compaction,
    compare,
    agreement,
    audit,
    verify,
    export,
    imports,
    producers,
    retention,
    project_events,
    usage,
    errors,
    search,
    blobs,
    metrics,
    operations,
    page,
)


def create_app(log: Turnlog, harnesses: Harnesses | None = None) -> FastAPI:
    """Build the application around an open log, which is told when it stops, and not closed.

    `harnesses` run turns in place of those that the settings define.
    """
    jobs = ImportJobs()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
        app.state.turnlog = log
        log.following.start()
        sweeping = [create_task(sweep(log)), create_task(watch_leases(log))]
        async with hosting(log, partial(queued_ask, log), harnesses) as found:
            app.state.hosting = found
            yield
            app.state.hosting = None
        for task in sweeping:
            task.cancel()
        log.stop()
        await jobs.ended()
        app.state.turnlog = None

    app = Described(
        title="turnlog",
        version=version("turnlog"),
        description=DESCRIPTION,
        lifespan=lifespan,
        docs_url="/docs",
        redoc_url=None,
        redirect_slashes=False,  # each resource has one address
    )
    app.state.turnlog = log
    app.state.import_jobs = jobs
    app.state.hosting = None
    add_error_handlers(app)
    app.state.metrics = Metrics(log)
    app.add_middleware(Measured, metrics=app.state.metrics)
    app.add_middleware(Heads)
    app.add_middleware(Neighbours)
    app.add_middleware(Mistakes)
    for routes in ROUTES:
        # As they are: a router that is included has all that it is asked for worked out once more,
        # at the first request of each application, and each request look for its route twice.
        app.router.routes.extend(routes.router.routes)
    return app
