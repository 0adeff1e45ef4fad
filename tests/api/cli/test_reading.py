"""Can a session be listed, read and followed, whatever was said in it?"""

import json
import signal
from pathlib import Path

from tests.api.cli.command import PATIENCE_S, Turnlog
from tests.api.cli.transcripts import SESSION, sample, written


def test_sessions_are_listed_newest_first_as_a_table_and_as_json(
    turnlog: Turnlog, tmp_path: Path
) -> None:
    turnlog.well("import", sample(tmp_path), written(tmp_path, "s2", "hello"))

    lines = turnlog.well("sessions", "--json").documents
    table = turnlog.well("sessions", "--limit", "1").text

    assert {line["session_id"] for line in lines} == {SESSION, "s2"}
    assert table.splitlines()[0].split()[0] == "SESSION"
    assert lines[0]["session_id"] in table
    assert table.splitlines()[-1] == "and more: --limit is 1"
    assert turnlog.well("sessions", "--title", "PARCEL", "--json").document["messages"] == 15
    assert turnlog.well("sessions", "--status", "deleted", "--json").out == b""


def test_a_transcript_shows_who_said_what_and_what_tools_did(
    turnlog: Turnlog, tmp_path: Path
) -> None:
    turnlog.well("import", written(tmp_path, "s1", "go on", "\n".join(map(str, range(1, 31)))))

    shown = turnlog.well("show", "s1").text

    assert shown.splitlines()[3:] == [
        "user #0 turn u1",
        "  go on",
        "",
        "assistant #1",
        "  → Bash {" + '"command":"' + "x" * 54 + "…(+248 chars) [completed]",
        "",
        "tool #2",
        "  ← Bash",
        *(f"    {number}" for number in range(1, 9)),
        "    …(+22 lines, 64 chars)",
        "",
    ]
    whole = turnlog.well("show", "s1", "--full").text
    assert "x" * 300 in "".join(whole.split())
    assert "    30\n" in whole


def test_a_line_that_is_folded_stays_indented(turnlog: Turnlog, tmp_path: Path) -> None:
    turnlog.well("import", written(tmp_path, "s1", "word " * 40))

    shown = turnlog.well("show", "s1").text.splitlines()

    assert [line[:7] for line in shown[4:7]] == ["  word ", "  word ", "  word "]


def test_a_transcript_is_shown_as_of_a_version_and_in_part(
    turnlog: Turnlog, tmp_path: Path
) -> None:
    turnlog.well("import", written(tmp_path, "s1", "go on"))

    early = turnlog.well("show", "s1", "--at", "2", "--json").documents
    newest = turnlog.well("show", "s1", "--limit", "1", "--json").documents
    form = turnlog.well("show", "s1", "--format", "openai").document

    assert [message["role"] for message in early] == ["user"]
    assert [message["role"] for message in newest] == ["tool"]
    assert [message["role"] for message in form["messages"]] == ["user", "assistant", "tool"]


def test_what_was_said_cannot_steer_the_terminal(turnlog: Turnlog, tmp_path: Path) -> None:
    said = "a\x1b]0;owned\x07\x1b[2Jb\u202ec\x9bd\re\x08f"
    turnlog.well("import", written(tmp_path, "s1", said, said))

    for command in (("show", "s1"), ("show", "s1", "--full"), ("tail", "s1", "--no-follow")):
        text = turnlog.well(*command).text
        assert not {"\x1b", "\x07", "\u202e", "\x9b", "\r", "\x08"} & set(text)
        assert "␛]0;owned␇␛[2Jb<U+202E>c<U+009B>d␍e␈f" in text


def test_following_shows_what_comes_until_it_is_interrupted(
    turnlog: Turnlog, tmp_path: Path
) -> None:
    turnlog.well("import", sample(tmp_path, lines=12))

    with turnlog.running("tail", SESSION, "--after", "0", "--json") as running:
        before = [running.document()["version"] for _ in range(20)]
        turnlog.well("import", sample(tmp_path))
        after = running.document()
        ended = running.end(signal.SIGINT)

    assert before == list(range(1, 21))
    assert after["version"] == 21
    assert (ended.code, ended.errors) == (0, "")
    versions = [json.loads(line)["version"] for line in ended.out.splitlines()]
    assert versions == list(range(22, 22 + len(versions)))


def test_an_export_that_nobody_reads_to_its_end_ends_quietly(
    turnlog: Turnlog, tmp_path: Path
) -> None:
    turnlog.well("import", written(tmp_path, "s1", "go on", "y" * 1_000_000))

    with turnlog.running("export", "s1") as running:
        first = running.document()
        running.out.close()
        code = running.process.wait(PATIENCE_S)
        errors = running.process.stderr.read()

    assert first["format"] == "turnlog-export-1"
    assert (code, errors) == (141, b"")


def test_an_export_into_a_file_is_whole_or_not_there(turnlog: Turnlog, tmp_path: Path) -> None:
    turnlog.well("import", sample(tmp_path))
    target = tmp_path / "out.jsonl"

    told = turnlog.well("export", SESSION, "-o", target, "--json").document
    turnlog.run("export", "absent", "-o", tmp_path / "absent.jsonl")

    assert told == {"session_id": SESSION, "file": str(target), "bytes": target.stat().st_size}
    assert target.read_bytes() == turnlog.well("export", SESSION).out
    assert sorted(path.name for path in tmp_path.glob("*.jsonl")) == [
        f"{SESSION}.jsonl",
        "out.jsonl",
    ]
    assert not list(tmp_path.glob(".*.jsonl*"))
