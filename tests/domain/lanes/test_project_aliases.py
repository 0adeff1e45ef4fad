"""A project says which ids are one person's; whatever else it says is refused with its place."""

import pytest

from domain.json_text import JsonValue
from domain.lanes.project_aliases import counted, read_project_aliases
from domain.lanes.whatsapp import NO_ALIASES, canonical
from domain.refusals import InvalidValue


def test_who_is_whom_is_read_and_counted() -> None:
    found = read_project_aliases(
        {"whatsapp": {"999@lid": ["15551234567@s.whatsapp.net", "77@lid"]}}
    )

    assert canonical("999@lid", found) == "77"
    assert counted(found) == {"whatsapp": {"people": 1, "ids": 3}}
    assert read_project_aliases({}) == NO_ALIASES
    assert counted(NO_ALIASES) == {"whatsapp": {"people": 0, "ids": 0}}


@pytest.mark.parametrize(
    ("value", "at"),
    [
        ([], ()),
        ({"signal": {}}, ("signal",)),
        ({"whatsapp": []}, ("whatsapp",)),
        ({"whatsapp": {"1": ["2", None]}}, ("whatsapp", "1", 1)),
    ],
)
def test_what_means_nothing_is_refused_with_its_place(
    value: JsonValue, at: tuple[str | int, ...]
) -> None:
    with pytest.raises(InvalidValue) as refused:
        read_project_aliases(value)
    assert refused.value.at == at
