"""`turnlog settings`, on the database and through a server."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from api.cli.failures import Failure
from api.cli.policies import patch_of
from api.cli.program import run
from infrastructure.setting_rows import Change, Name, replaced, stored
from tests.api.cli.command import Outcome
from tests.api.serving import Served


@dataclass(frozen=True)
class Here:
    """The command line in this process, which is quicker than in one of its own."""

    project: str
    captured: pytest.CaptureFixture[bytes]

    def run(self, *arguments: str) -> Outcome:
        code = run(["settings", "--project", self.project, *arguments])
        out, errors = self.captured.readouterr()
        return Outcome(code, out, errors.decode())

    def well(self, *arguments: str) -> Outcome:
        outcome = self.run(*arguments)
        assert (outcome.code, outcome.errors) == (0, "")
        return outcome


@pytest.fixture
def here(
    sqlite_server: Served,
    project: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsysbinary: pytest.CaptureFixture[bytes],
) -> Here:
    """The command line on the server's database."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TURNLOG_DATABASE_URL", sqlite_server.database_url)
    monkeypatch.setenv("TURNLOG_ALLOW_UNSAFE_DURABILITY", "true")
    return Here(project=project, captured=capsysbinary)


def test_policies_are_told_and_changed_the_same_on_a_database_and_on_a_server(
    here: Here, sqlite_server: Served
) -> None:
    url = ("--url", sqlite_server.url)
    home = "lanes.home_channels.telegram"
    sets = ("--set", f'{home}={{"chat_id":"7"}}', "--set", f"{home}.name=Our home")
    told = here.well(*sets).text
    assert 'lanes.home_channels={"telegram":{"chat_id":"7","name":"Our home"}}\n' in told
    assert "sessions.retain_ended_days=0\n" in told

    changed = here.well(*url, "--set", "lanes.profiles=true", "--json").document
    assert (changed["version"], changed["lanes"]["profiles"]) == (2, True)
    assert here.well("--json").document == changed
    assert here.well(*url, "--json").document == changed


def test_who_reads_what_cannot_be_read_or_sets_what_means_nothing_is_told(
    here: Here, sqlite_server: Served
) -> None:
    expected = "/lanes/prune_after_days: expected a whole number from 0 to 36500"
    for source in ((), ("--url", sqlite_server.url)):
        failed = here.run(*source, "--set", "lanes.prune_after_days=-1")
        assert (failed.code, failed.errors) == (1, f"turnlog: {expected} (invalid-value)\n")

    name, change = Name(here.project, "settings"), Change(actor=None, now=0)
    with sqlite_server.log.database.write() as connection:
        replaced(connection, name, stored(connection, name), b"damaged", change)
    unread = here.run()
    assert (unread.code, "what was set cannot be read" in unread.errors) == (0, True)
    refused = here.run("--set", "lanes.profiles=true")
    assert (refused.code, "(settings-unreadable)" in refused.errors) == (1, True)


@pytest.mark.parametrize(
    "changes", [["lanes"], ["=true"], ["lanes.=1"], ["lanes=1", "lanes.profiles=true"]]
)
def test_what_is_no_change_is_a_wrong_use(changes: list[str]) -> None:
    with pytest.raises(Failure) as failed:
        patch_of(changes)
    assert failed.value.code == "usage"
