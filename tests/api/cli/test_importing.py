"""Does an import take files and folders once, and say what it could not take?"""

import os
from pathlib import Path

from tests.api.cli.command import Turnlog, on_sqlite
from tests.api.cli.transcripts import SAMPLE, SESSION, sample, written


def test_a_folder_is_imported_newest_first_and_again_adds_nothing(
    turnlog: Turnlog, tmp_path: Path
) -> None:
    folder = tmp_path / "projects" / "one"
    folder.mkdir(parents=True)
    os.utime(sample(folder), (1_000, 1_000))
    os.utime(written(folder, "s2", "hello"), (2_000, 2_000))

    first = turnlog.well("import", tmp_path / "projects", "--json").document
    again = turnlog.well("import", tmp_path / "projects", "--json").document

    assert [file["name"] for file in first["files"]] == ["s2.jsonl", f"{SESSION}.jsonl"]
    assert first["counts"] == {"imported": 2}
    assert (again["counts"], again["events"]) == ({"unchanged": 2}, 0)


def test_a_report_counts_what_came_and_lists_what_did_not(turnlog: Turnlog, tmp_path: Path) -> None:
    report = turnlog.well("import", sample(tmp_path)).text.splitlines()

    assert report == [
        "imported: 1 file",
        (
            "recorded: 34 events, sessions: 1, turns: 3, messages: 10, tool calls: 5, results: 5, "
            "kept as data: 2"
        ),
        "not carried as it was: 1",
        "  fields-not-carried: 1",
        f"    {SESSION}.jsonl cwd, gitBranch, message.stop_sequence, userType, version",
    ]


def test_one_bad_file_is_named_and_the_others_go_on(on_each: Turnlog, tmp_path: Path) -> None:
    on_each.well("import", sample(tmp_path))
    exported = tmp_path / "exported.jsonl"
    exported.write_bytes(on_each.well("export", SESSION).out)
    damaged = tmp_path / "damaged.jsonl"
    damaged.write_bytes(exported.read_bytes().replace(b"parcel", b"parsel"))
    other = tmp_path / "other.jsonl"
    other.write_bytes(SAMPLE.replace(b"0.3 kg costs", b"0.4 kg costs"))

    outcome = on_each.run("import", damaged, other, written(tmp_path, "s2", "hello"), "--json")

    told = {file["name"]: file for file in outcome.document["files"]}
    assert outcome.code == 1
    assert told["damaged.jsonl"]["status"] == "unreadable"
    assert told["damaged.jsonl"]["detail"].startswith("line ")
    assert "parsel" not in outcome.text
    assert told["other.jsonl"]["status"] == "refused"
    assert told["s2.jsonl"]["status"] == "imported"


def test_a_conflict_is_skipped_or_forked_if_told_so(turnlog: Turnlog, tmp_path: Path) -> None:
    turnlog.well("import", sample(tmp_path))
    (tmp_path / "other.jsonl").write_bytes(SAMPLE.replace(b"0.3 kg costs", b"0.4 kg costs"))

    skipped = turnlog.well("import", tmp_path / "other.jsonl", "--on-conflict", "skip", "--json")
    forked = turnlog.well("import", tmp_path / "other.jsonl", "--on-conflict", "fork", "--json")

    assert skipped.document["counts"] == {"skipped": 1}
    assert forked.document["files"][0]["sessions"] == [f"{SESSION}-2"]


def test_a_file_without_a_conversation_is_no_success(turnlog: Turnlog, tmp_path: Path) -> None:
    (tmp_path / "notes.jsonl").write_bytes(b"dear diary\n")

    outcome = turnlog.run("import", tmp_path / "notes.jsonl", "--format", "claude-code")

    assert outcome.code == 1
    assert "no-conversation: 1 file" in outcome.text
    assert "dear diary" not in outcome.text


@on_sqlite
def test_a_table_and_a_chat_are_imported_and_their_formats_found(
    on_each: Turnlog, tmp_path: Path
) -> None:
    table = tmp_path / "table.csv"
    table.write_text("session_id,external_id,role,content,occurred_at\nt1,1,user,hi,\nx,,user,?,\n")
    chat = tmp_path / "chat.json"
    chat.write_text('[{"role":"user","content":"hi"},{"role":"assistant","content":"yes"}]')
    chunks = tmp_path / "a.chunks.jsonl"
    chunks.write_text('{"type":"start"}\n{"type":"text-delta","delta":"secret"}\n')

    outcome = on_each.well("import", table, chat, chunks, "--json")

    told = {file["name"]: file for file in outcome.document["files"]}
    assert told["table.csv"]["sessions"] == ["t1"]
    assert told["table.csv"]["losses"] == [{"line": 3, "code": "no-external-id", "detail": ""}]
    assert told["chat.json"]["sessions"] == ["chat"]
    assert told["a.chunks.jsonl"]["status"] == "unknown-format"
    assert "secret" not in outcome.text
    again = on_each.well("import", table, chat, "--json").document
    assert again["counts"] == {"unchanged": 2}


def test_a_folder_of_unknown_files_is_no_success(turnlog: Turnlog, tmp_path: Path) -> None:
    (tmp_path / "notes.jsonl").write_text('{"a":1}\n')
    outcome = turnlog.run("import", tmp_path)
    assert outcome.code == 1
    assert "name its format" in outcome.text
