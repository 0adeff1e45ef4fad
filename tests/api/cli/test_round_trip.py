"""Does a transcript survive the whole way: in, shown, out, into the other database, out again?"""

import json
from pathlib import Path

import pytest

from tests.api.cli.command import Turnlog
from tests.api.cli.transcripts import SESSION, sample
from tests.conftest import NewDatabase
from tests.databases import DatabaseKind


@pytest.mark.parametrize(("first", "second"), [("sqlite", "postgresql"), ("postgresql", "sqlite")])
def test_an_export_of_the_other_database_is_the_same_bytes(
    tmp_path: Path, new_database: NewDatabase, first: DatabaseKind, second: DatabaseKind
) -> None:
    here = Turnlog(home=tmp_path, database_url=new_database(first))
    there = Turnlog(home=tmp_path, database_url=new_database(second))
    exported, again = tmp_path / "first.jsonl", tmp_path / "second.jsonl"

    report = here.well("import", sample(tmp_path), "--json").document
    shown = here.well("show", SESSION).text
    page = here.well("tail", SESSION, "--no-follow", "--json", "--after", "30").documents
    here.run("export", SESSION, "-o", exported)
    there.well("import", exported)
    there.run("export", SESSION, "-o", again)

    assert report["counts"] == {"imported": 1}
    assert "A parcel of 0.3 kg costs 2.9999999999999996 in our tests." in shown
    assert [event["version"] for event in page] == [31, 32, 33, 34]
    assert json.loads(exported.read_bytes().splitlines()[0])["events"] == 34
    assert again.read_bytes() == exported.read_bytes()
    assert there.well("show", SESSION).text == shown
    assert there.well("verify", SESSION).code == 0
    assert there.well("rebuild", SESSION, "--check", "--json").document["ok"]
