"""What can an operator set of a pool, and which values are refused?"""

from pathlib import Path

import pytest

from infrastructure.pool.limits import MEANINGS, RANGES, PoolLimits
from infrastructure.settings import BadSetting, load

DOCUMENT = Path(__file__).parents[3] / "docs" / "keep-alive.md"


def test_without_anything_said_eight_harnesses_wait_a_minute_and_ten_for_a_person() -> None:
    assert load({}).pool == PoolLimits(
        enabled=True,
        idle_ttl_s=60,
        approval_ttl_s=600,
        capacity=8,
        wait_s=5,
        memory_budget="auto",
        pressure_protect_recent=8,
        pressure_batch=16,
        pressure_every_s=10,
        shutdown_s=5,
    )


def test_each_setting_is_a_variable() -> None:
    given = {f"TURNLOG_POOL_{name.upper()}": str(most) for name, (_, most) in RANGES.items()}

    pool = load({**given, "TURNLOG_POOL_ENABLED": "off"}).pool

    assert not pool.enabled
    assert {name: getattr(pool, name) for name in RANGES} == {
        name: most for name, (_, most) in RANGES.items()
    }


def test_they_can_be_set_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("pool_enabled = false\npool_capacity = 100\n")

    pool = load({"TURNLOG_CONFIG": str(file)}).pool

    assert (pool.enabled, pool.capacity) == (False, 100)


@pytest.mark.parametrize("name", RANGES)
@pytest.mark.parametrize("junk", ["-1", "1.5", "1e3", "many", "9999999999", "٣"])
def test_junk_is_refused_by_name(name: str, junk: str) -> None:
    variable = f"TURNLOG_POOL_{name.upper()}"
    least, most = RANGES[name]

    with pytest.raises(
        BadSetting, match=f"^{variable} is no whole number between {least} and {most}$"
    ):
        load({variable: junk})


@pytest.mark.parametrize("name", ["memory_budget", "pressure_protect_recent", "pressure_batch"])
def test_of_memory_pressure_what_says_nothing_known_leaves_the_default_and_is_told(
    name: str,
) -> None:
    variable = f"TURNLOG_POOL_{name.upper()}"

    found = load({variable: "plenty"})

    default = getattr(PoolLimits(), name)
    assert found.pool == PoolLimits()
    assert found.passed_over == (f"{variable} says nothing known: {default} holds",)
    assert load({variable: "20"}).passed_over == ()


def test_the_file_can_say_no_budget_by_an_empty_text_and_a_variable_by_off(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('pool_memory_budget = ""\npool_pressure_protect_recent = false\n')

    given = {"TURNLOG_CONFIG": str(file)}
    found = load(given)

    assert (found.pool.memory_budget, found.pool.pressure_protect_recent) == (None, 8)
    assert found.shown()["pool_memory_budget"] == "off"
    assert found.sources["pool_memory_budget"] == str(file)
    assert load({**given, "TURNLOG_POOL_MEMORY_BUDGET": "300"}).pool.memory_budget == 300
    assert load({"TURNLOG_POOL_MEMORY_BUDGET": "off"}).pool.memory_budget is None
    assert load({"TURNLOG_POOL_MEMORY_BUDGET": ""}).pool.memory_budget == "auto"


def test_a_flag_that_is_none_is_refused_by_name() -> None:
    with pytest.raises(BadSetting, match=r"^TURNLOG_POOL_ENABLED is none of true, false$"):
        load({"TURNLOG_POOL_ENABLED": "perhaps"})


def test_a_pool_of_none_is_refused() -> None:
    with pytest.raises(BadSetting, match="TURNLOG_POOL_CAPACITY"):
        load({"TURNLOG_POOL_CAPACITY": "0"})


def test_people_are_shown_each() -> None:
    shown = load({}).shown()

    assert {name: shown[name] for name in MEANINGS} == PoolLimits().shown()
    assert shown["pool_enabled"] == "true"
    assert shown["pool_capacity"] == "8"


def test_the_document_has_each_with_its_default_and_its_range() -> None:
    text = DOCUMENT.read_text()

    for name in MEANINGS:
        assert f"| `{name}` |" in text
    for name, (least, most) in RANGES.items():
        default = getattr(PoolLimits(), name)
        row = next(line for line in text.splitlines() if line.startswith(f"| `pool_{name}` |"))
        assert row.endswith(f"| {default} | {least:,} to {most:,} |")
