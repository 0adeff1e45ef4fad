"""Is a store backed up, restored elsewhere and made smaller from the command line?"""

import json
from pathlib import Path

from tests.api.cli.command import Turnlog
from tests.api.cli.transcripts import SESSION, sample
from tests.databases import Databases


def test_a_store_goes_into_another_database_and_reads_the_same(
    on_each: Turnlog, databases: Databases, tmp_path: Path
) -> None:
    on_each.well("import", sample(tmp_path))
    file, there = tmp_path / "store.backup", databases.empty()

    taken = on_each.well("backup", file, "--json").document
    found = on_each.well("restore", file, "--into", there, "--json").document
    elsewhere = Turnlog(home=tmp_path, database_url=there)

    assert (taken["incarnation"], found["incarnation"]) == (1, 2)
    assert (taken["store_id"], taken["rows"]["events"]) == (found["store_id"], 34)
    assert taken["size_bytes"] == file.stat().st_size
    assert elsewhere.well("export", SESSION).out == on_each.well("export", SESSION).out
    assert elsewhere.well("rebuild", "--all", "--check", "--json").document["equal"] == 1
    listed = json.loads(elsewhere.well("sessions", "--json").out.splitlines()[0])
    assert listed["ready"] is False
    databases.drop(there)


def test_what_is_done_is_told_in_sentences(turnlog: Turnlog, tmp_path: Path) -> None:
    turnlog.well("import", sample(tmp_path))
    there = tmp_path / "new" / "turnlog.db"

    taken = turnlog.well("backup", "store.backup").text
    found = turnlog.well("restore", "store.backup", "--into", f"sqlite:///{there}").text

    size = (tmp_path / "store.backup").stat().st_size
    assert taken == f"34 events of 1 sessions backed up, {size} bytes\n"
    assert found.splitlines() == [
        f"34 events of 1 sessions restored into the SQLite database {there}",
        "every chain verified; this is incarnation 2 of the store",
    ]


def test_what_cannot_be_done_is_told(turnlog: Turnlog, tmp_path: Path) -> None:
    turnlog.well("import", sample(tmp_path))
    turnlog.well("backup", "store.backup")
    (tmp_path / "other").write_bytes(b"something else")

    for arguments, code, sentence in (
        (("backup", "store.backup"), 1, "nothing is written over (already-there)"),
        (("backup", "no/where"), 1, "No such file or directory (io-error)"),
        (("restore", "store.backup"), 2, "into an empty database only (not-empty)"),
        (("restore", "nothing"), 1, "No such file or directory (io-error)"),
        (("restore", "other"), 1, "manifest: it is damaged, or no backup of turnlog (bad-backup)"),
        (("restore", "store.backup", "--into", "mysql://x"), 2, "(bad-setting)"),
    ):
        outcome = turnlog.run(*arguments)
        assert (outcome.code, outcome.out) == (code, b""), arguments
        assert outcome.errors.rstrip().endswith(sentence)


def test_space_is_given_back(on_each: Turnlog, tmp_path: Path) -> None:
    on_each.well("import", sample(tmp_path))

    found = on_each.well("reclaim", "--json").document
    told = on_each.well("reclaim", "--quick").text

    assert found.keys() == {"before_bytes", "after_bytes", "idempotency_keys", "blobs"}
    assert found["after_bytes"] > 0
    assert told.splitlines()[1:] == [
        "0 idempotency keys older than a day are gone",
        "0 blobs that no event names are gone",
    ]
