"""Can what a transcript only begins be had whole?"""

from hashlib import sha256
from pathlib import Path

from tests.api.cli.command import Turnlog
from tests.api.cli.transcripts import written

LONG = "na\u00efve \U0001f642 " * 10_000
NAME = sha256(LONG.encode()).hexdigest()


def test_a_long_text_is_shown_by_its_beginning_and_given_whole(
    turnlog: Turnlog, tmp_path: Path
) -> None:
    turnlog.well("import", written(tmp_path, "s1", LONG))
    shown = " ".join(turnlog.well("show", "s1").text.split())
    assert f"\u2026 /text has {len(LONG.encode())} bytes: turnlog blob {NAME}" in shown
    assert turnlog.well("blob", NAME).out == LONG.encode()
    file = tmp_path / "whole.txt"
    told = turnlog.well("blob", NAME, "-o", file, "--json").document
    assert told == {"sha256": NAME, "file": str(file), "bytes": len(LONG.encode())}
    assert file.read_bytes() == LONG.encode()


def test_what_is_not_there_is_no_file(turnlog: Turnlog, tmp_path: Path) -> None:
    turnlog.well("import", written(tmp_path, "s1", "short"))
    for digest in (NAME, "no digest"):
        outcome = turnlog.run("blob", digest, "-o", tmp_path / "out")
        assert outcome.code == 1
        assert "nothing of this digest" in outcome.errors
    assert not (tmp_path / "out").exists()


def test_a_server_gives_the_same(turnlog: Turnlog, tmp_path: Path) -> None:
    turnlog.well("import", written(tmp_path, "s1", LONG))
    with turnlog.running("serve", "--port", "0", "--json") as server:
        url = server.document()["url"]
        assert turnlog.well("blob", NAME, "--url", url).out == LONG.encode()
        outcome = turnlog.run("blob", "0" * 64, "--url", url)
        assert (outcome.code, "nothing of this digest" in outcome.errors) == (1, True)
