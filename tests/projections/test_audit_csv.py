"""An audit as a table: the same columns for ever, and nothing that a spreadsheet would run."""

import csv
from io import StringIO

import pytest

from projections.audit import Shape, audit_shape
from projections.audit_csv import csv_header, csv_line
from tests.scenario import RUNNER, recorded, returned, started


def cells(line: bytes) -> list[str]:
    (row,) = csv.reader(StringIO(line.decode(), newline=""), strict=True)
    return row


def test_the_columns_stay_as_they_are() -> None:
    assert csv_header() == (
        b"version,at,actor,producer_id,producer_epoch,producer_sequence,type,turn_id,tool,what,"
        b"effect,bears_on,late,rewound_by,id,hash\r\n"
    )


def test_a_line_has_a_cell_for_each_column() -> None:
    (entry,) = recorded(started(), producer=RUNNER)
    line = csv_line(audit_shape(entry.envelope, entry.hash, entry.event))

    assert line == (
        b"1,1970-01-01T00:00:01.000000Z,,runner,1,1,turn-started,t1,,"
        b"a turn began with 1 message,history,turn transcript,,,event-1,"
        + entry.hash.hex().encode()
        + b"\r\n"
    )


def test_what_is_not_there_is_an_empty_cell() -> None:
    (entry,) = recorded(returned(), affects="none")
    line = csv_line(audit_shape(entry.envelope, entry.hash, entry.event, "ls", 9))

    assert cells(line)[2:6] == ["", "", "", ""]
    assert cells(line)[8] == "ls"
    assert cells(line)[10:14] == ["none", "", "true", "9"]
    assert cells(csv_line({})) == [""] * 16


@pytest.mark.parametrize(
    "text",
    [
        "=1+1",
        "+1",
        "-1",
        "@SUM(A1)",
        "  =1",
        "\t=1",
        "\tx",
        "\rx",
        "\nx",
        "\uff1d1",
        "\uff0b1",
        "\uff0d1",
        "\uff201",
    ],
)
def test_a_cell_is_never_a_formula(text: str) -> None:
    assert cells(csv_line({"actor": text}))[2] == f"'{text}"


@pytest.mark.parametrize("text", ["ann", "a=b", 'say "x", y', "two\nlines", "Grüße 🙂", "1"])
def test_other_text_is_what_it_is(text: str) -> None:
    assert cells(csv_line({"actor": text}))[2] == text


def test_text_that_is_no_unicode_is_written_all_the_same() -> None:
    shape: Shape = {"actor": "a\ud800", "late": False, "version": 7}

    assert cells(csv_line(shape))[2] == "a\\ud800"
    assert cells(csv_line(shape))[12] == "false"
