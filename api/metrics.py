"""What does an operator watch? Counts and times for Prometheus, of this process and its views.

Labels are routes and statuses, never what a path or a query holds.
"""

from collections.abc import Iterator
from time import perf_counter
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.errors import UNREACHABLE
from api.harness_metrics import OfHarnesses
from infrastructure.composition import Turnlog

BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """The metrics of one application."""

    def __init__(self, log: Turnlog) -> None:
        self._registry: Final = CollectorRegistry()
        names = ("method", "route", "status")
        self.requests: Final = Counter(
            "turnlog_http_requests", "Requests answered.", names, registry=self._registry
        )
        self.seconds: Final = Histogram(
            "turnlog_http_request_seconds",
            "How long a request took, until its whole answer was sent.",
            names[:2],
            buckets=BUCKETS,
            registry=self._registry,
        )
        self._registry.register(_OfLog(log))
        self._registry.register(OfHarnesses(log))

    def text(self) -> bytes:
        """Return them all, as Prometheus reads them."""
        return generate_latest(self._registry)


class _OfLog(Collector):
    """What the log says of itself when it is asked."""

    def __init__(self, log: Turnlog) -> None:
        self._log: Final = log

    def describe(self) -> Iterator[Metric]:
        """Nothing: asking would read the database before it is served."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """Yield counts of this process, and the lag of each view unless the database is away."""
        written = self._log.written
        yield CounterMetricFamily("turnlog_appends", "Requests that wrote.", written.appends)
        yield CounterMetricFamily("turnlog_events", "Events that they wrote.", written.events)
        yield CounterMetricFamily("turnlog_commits", "Commits of them.", written.commits)
        yield CounterMetricFamily(
            "turnlog_sessions_retired", "Ended sessions kept no longer.", written.retired
        )
        yield CounterMetricFamily("turnlog_lanes_pruned", "Lanes given up.", written.pruned)
        yield self._errors()
        yield GaugeMetricFamily(
            "turnlog_streams", "Live streams open.", self._log.feeds.followers()
        )
        try:
            lags = self._log.following.lags()
        except UNREACHABLE:
            return
        events = GaugeMetricFamily(
            "turnlog_follower_lag_events", "Events that a view has not taken yet.", labels=["view"]
        )
        seconds = GaugeMetricFamily(
            "turnlog_follower_lag_seconds", "Age of the first of them.", labels=["view"]
        )
        failing = GaugeMetricFamily(
            "turnlog_follower_failing", "Whether its last step here failed.", labels=["view"]
        )
        for name, lag in lags.items():
            events.add_metric([name], lag.events)
            seconds.add_metric([name], lag.seconds)
            failing.add_metric([name], int(self._log.following.failing(name)))
        yield from (events, seconds, failing)

    def _errors(self) -> Metric:
        labels = ("source", "kind")
        told = "Errors that this process found in the log."
        found = CounterMetricFamily("turnlog_errors", told, labels=labels)
        for values, count in sorted(self._log.following.errors.items()):
            found.add_metric(values, count)
        return found


class Measured:
    """Counts and times every request, by its route and status."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app: Final = app
        self._metrics: Final = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and note what became of it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 500

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        began = perf_counter()
        try:
            await self._app(scope, receive, noted)
        finally:
            route = str(getattr(scope.get("route"), "path", None) or "none")
            labels = (_method(scope["method"]), route)
            self._metrics.requests.labels(*labels, str(status)).inc()
            self._metrics.seconds.labels(*labels).observe(perf_counter() - began)


def _method(method: str) -> str:
    """Return a method that there is: a client could make up any number of others."""
    return method if method in {"GET", "POST", "PATCH", "DELETE", "PUT", "HEAD"} else "other"
