"""Are event ids the same after they were stored?"""

import pytest

from infrastructure.event_ids import packed, spelt

EVENT_ID = "0190c0de-1234-4abc-8def-00112233445f"


def test_an_event_id_is_16_bytes_and_the_same_text_again() -> None:
    assert len(packed(EVENT_ID)) == 16
    assert spelt(packed(EVENT_ID)) == EVENT_ID


@pytest.mark.parametrize("damaged", [b"", b"\x01", bytes(20)])
def test_damaged_bytes_are_spelt_and_read(damaged: bytes) -> None:
    assert packed(spelt(damaged)) == damaged
