"""Metrics: requests by route, what was written, live streams, and each view's lag."""

from tests.api.harnesses import cold, let_go, told
from tests.api.recording import record_turn
from tests.api.serving import Served
from tests.api.streams import frames, until_synced
from tests.api.waiting import caught_up


def values(text: str) -> dict[str, float]:
    lines = (line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, value in lines}


def test_metrics_count_requests_by_their_route_and_never_name_a_session(
    own_server: Served,
) -> None:
    with own_server.client("default") as client, own_server.browser() as browser:
        record_turn(client, "secret-name")
        client.get("/sessions/other-name")
        browser.get("/no/such/path")
        caught_up(own_server)
        answer = browser.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    found = values(answer.text)
    append = 'method="POST",route="/v1/projects/{project_id}/sessions/{session_id}/events"'
    read = 'method="GET",route="/v1/projects/{project_id}/sessions/{session_id}"'
    assert found[f'turnlog_http_requests_total{{{append},status="201"}}'] == 1
    assert found[f'turnlog_http_requests_total{{{read},status="404"}}'] == 1
    assert found['turnlog_http_requests_total{method="GET",route="none",status="404"}'] == 1
    assert found[f"turnlog_http_request_seconds_count{{{append}}}"] == 1
    assert found["turnlog_appends_total"] == 1
    assert found["turnlog_events_total"] == 4
    assert found["turnlog_commits_total"] == 1
    assert found["turnlog_streams"] == 0
    assert found['turnlog_follower_lag_events{view="usage"}'] == 0
    assert found['turnlog_follower_lag_seconds{view="search"}'] == 0
    assert found['turnlog_follower_failing{view="search"}'] == 0
    assert "secret-name" not in answer.text
    assert "other-name" not in answer.text


def test_an_open_stream_is_counted(own_server: Served) -> None:
    with (
        own_server.client("default") as client,
        own_server.browser() as browser,
        client.stream("GET", "/events/stream") as response,
    ):
        found = frames(response.iter_bytes())  # let go of, it would hang up
        assert until_synced(found) == []
        assert values(browser.get("/metrics").text)["turnlog_streams"] == 1


def test_metrics_tell_of_harnesses(own_server: Served) -> None:
    counting = own_server.log.counting
    counting.turn("warm", None, {"dispatch": 2, "total": 40})
    counting.turn("evicted", "history", {"harness_start": 350.5, "total": "long", "other": 5})
    counting.refused("turn-in-progress")
    counting.evicted("lru")
    counting.evicted("lru")
    relieved = counting.relieved
    relieved.budget = relieved.used = 2**40
    relieved.evicted, relieved.unevictable = 3, 1
    with own_server.client("default") as client, own_server.browser() as browser:
        told(client, "s1", 1, *cold("t1"))
        told(client, "s2", 1, *cold("t1", "seat-2"), let_go("seat-2"))
        found = values(browser.get("/metrics").text)

    assert found['turnlog_turns_total{path="warm",reason="none"}'] == 1
    assert found['turnlog_turns_total{path="evicted",reason="history"}'] == 1
    assert found['turnlog_dispatch_refused_total{code="turn-in-progress"}'] == 1
    assert found['turnlog_seats_evicted_total{reason="lru"}'] == 2
    assert found["turnlog_pool_memory_budget_bytes"] > 0
    assert found["turnlog_pool_memory_used_bytes"] > 0
    assert found["turnlog_pool_pressure_passes_total"] >= 0
    assert found["turnlog_pool_pressure_evicted_total"] == 3
    assert found["turnlog_pool_pressure_unevictable_total"] == 1
    assert found['turnlog_seats{state="idle"}'] == 1
    assert found['turnlog_seats{state="busy"}'] == 0
    assert found['turnlog_turn_seconds_count{phase="total"}'] == 1
    assert found['turnlog_turn_seconds_bucket{le="0.025",phase="total"}'] == 0
    assert found['turnlog_turn_seconds_bucket{le="0.05",phase="total"}'] == 1
    assert found['turnlog_turn_seconds_bucket{le="+Inf",phase="harness_start"}'] == 1
    assert found['turnlog_turn_seconds_sum{phase="harness_start"}'] == 0.3505
    assert found['turnlog_turn_seconds_count{phase="first_output"}'] == 0
