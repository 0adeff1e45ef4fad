"""The tables that people read are what the decision does."""

from api.problems import TYPES
from domain.dispatch.outcomes import ACTIONS
from tests.domain.dispatch.document import DOCUMENT, named, rendered, tables


def test_the_document_has_every_table_once() -> None:
    assert sorted(named(DOCUMENT.read_text(encoding="utf-8"))) == sorted(tables())


def test_the_tables_are_those_of_the_decision() -> None:
    """If not: `python -m tests.domain.dispatch.document`."""
    document = DOCUMENT.read_text(encoding="utf-8")
    assert document == rendered(document)


def test_a_stale_table_is_written_anew() -> None:
    stale = "<!-- table: existence -->\n| old |\n<!-- end -->\n"
    assert rendered(stale) == f"<!-- table: existence -->\n{tables()['existence']}\n<!-- end -->\n"


def test_every_refusal_is_a_problem_with_the_same_action() -> None:
    assert {code: TYPES[code].action for code in ACTIONS} == ACTIONS
