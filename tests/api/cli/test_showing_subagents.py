"""`turnlog show --subagents`: what those said that a session's calls began, in their places."""

from dataclasses import replace
from pathlib import Path

from tests.api.batches import append, batch, event, said, started
from tests.api.cli.command import Turnlog, on_sqlite
from tests.api.serving import Served


@on_sqlite
def test_what_subagents_said_is_shown_below_the_calls_that_began_them(
    server: Served, project: str, tmp_path: Path
) -> None:
    spawn = event("tool-call-requested", turn_id="t1", tool_call_id="c1", name="task", arguments={})
    with server.client(project) as client:
        append(client, "main", batch(1, started("t1", "Top?"), spawn, said("t1", "I wait.")))
        above = "main"
        for number in range(1, 6):
            opening = {"parent": {"session_id": above, "agent_id": f"agent-{number}"}}
            above = f"below-{number}"
            body = batch(1, started("t1", f"Question {number}?"), spawn, open=opening)
            assert append(client, above, body).status_code == 201
        free = {"parent": {"session_id": "main", "agent_id": "free"}}
        append(client, "other", batch(1, started("t1", "Anything?"), open=free))
    remote = Turnlog(home=tmp_path, project=project)
    stored = replace(remote, database_url=server.database_url)

    shown = stored.well("show", "main", "--subagents").text

    assert remote.well("show", "main", "--subagents", "--url", server.url).text == shown
    lines = [line.strip() for line in shown.splitlines()]
    places = [
        next(at for at, line in enumerate(lines) if words in line)
        for words in (
            "Top?",
            "agent-1 · below-1",
            "Question 1?",
            "agent-4 · below-4",
            "Question 4?",
        )
    ]
    assert places == sorted(places)
    assert "⤷ agent-5 · below-5 (not shown here)" in lines
    assert "Question 5?" not in shown
    assert lines.index("⤷ free · other") > places[-1]
    plain = stored.well("show", "main").text
    assert "Question 1?" not in plain
    listed = {line["session_id"] for line in stored.well("sessions", "--json").documents}
    assert listed == {"main"}
    every = stored.well("sessions", "--json", "--subagents").documents
    assert len(every) == 7
