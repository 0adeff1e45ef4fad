"""What does an operator watch of harnesses? Turns by path and reason, seats, and where time goes.

Of turns, refusals and evictions: those of this process since its start. Of seats: what the log
tells of every process.
"""

from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Final

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from api.errors import UNREACHABLE
from infrastructure.composition import Turnlog
from infrastructure.hosting.counting import BOUNDS_MS
from infrastructure.reading.seats import seats_by_state

_STATES: Final = ("busy", "idle", "awaiting_approval")
_MS: Final = 1_000


class OfHarnesses(Collector):
    """What there is to tell of harnesses when it is asked."""

    def __init__(self, log: Turnlog) -> None:
        self._log: Final = log

    def describe(self) -> Iterator[Metric]:
        """Nothing: asking would read the database before it is served."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """Yield counts and times of this process, and seats unless the database is away."""
        yield from self._counters()
        yield self._seconds()
        yield from self._pool()
        yield from self._memory()
        try:
            states = self._log.read_now(seats_by_state)
        except UNREACHABLE:
            return
        yield _gauge("turnlog_seats", "Seats that the log tells of, by state.", states)

    def _counters(self) -> Iterator[Metric]:
        counting = self._log.counting
        turns = CounterMetricFamily(
            "turnlog_turns", "Turns run here, by path and reason.", labels=["path", "reason"]
        )
        for labels, count in sorted(counting.turns.items()):
            turns.add_metric(labels, count)
        refused = CounterMetricFamily(
            "turnlog_dispatch_refused", "Turns asked for here and refused.", labels=["code"]
        )
        for code, count in sorted(counting.refusals.items()):
            refused.add_metric([code], count)
        evicted = CounterMetricFamily(
            "turnlog_seats_evicted", "Harnesses let go here, by reason.", labels=["reason"]
        )
        for label, count in sorted(counting.evictions.items()):
            evicted.add_metric([label], count)
        held = CounterMetricFamily(
            "turnlog_resumes_held_back",
            "What was cut off in lanes and not gone on with here, by why.",
            labels=["reason"],
        )
        for reason, count in sorted(counting.held.items()):
            held.add_metric([reason], count)
        yield from (turns, refused, evicted, held)

    def _seconds(self) -> Metric:
        found = HistogramMetricFamily(
            "turnlog_turn_seconds", "How long turns run here took, by phase.", labels=["phase"]
        )
        bounds = [*(str(bound / _MS) for bound in BOUNDS_MS), "+Inf"]
        for phase, took in self._log.counting.durations.items():
            buckets = list(zip(bounds, accumulate(took.counts), strict=True))
            found.add_metric([phase], buckets, took.sum_ms / _MS)
        return found

    def _pool(self) -> Iterator[Metric]:
        pool = self._log.live_pool
        if pool is None:
            return
        counts = pool.counts()
        yield GaugeMetricFamily("turnlog_pool_capacity", "Seats at most here.", counts.capacity)
        yield GaugeMetricFamily("turnlog_pool_waiting", "Turns that wait here.", counts.waiting)
        states = {
            "busy": counts.busy,
            "idle": counts.idle,
            "awaiting_approval": counts.awaiting_approval,
            "ending": counts.ending,
        }
        yield _gauge("turnlog_pool_seats", "Seats of this process, by state.", states)

    def _memory(self) -> Iterator[Metric]:
        relieved = self._log.counting.relieved
        sizes = (
            ("budget", "How much memory may be used here.", relieved.budget),
            ("used", "How much was when it was looked last.", relieved.used),
        )
        for name, about, size in sizes:
            if size is not None:
                yield GaugeMetricFamily(f"turnlog_pool_memory_{name}_bytes", about, size)
        counts = (
            ("passes", "How often it was looked whether memory is short.", relieved.passes),
            ("evicted", "Harnesses let go for that.", relieved.evicted),
            ("unevictable", "How often none could be.", relieved.unevictable),
        )
        for name, about, count in counts:
            yield CounterMetricFamily(f"turnlog_pool_pressure_{name}", about, count)


def _gauge(name: str, about: str, states: Mapping[str, int]) -> Metric:
    gauge = GaugeMetricFamily(name, about, labels=["state"])
    for state in sorted({*_STATES, *states}):
        gauge.add_metric([state], states.get(state, 0))
    return gauge
