"""A server for each agent on each database, and a conversation for each test."""

import re
from collections.abc import Iterator
from itertools import product

import pytest

from tests.databases import DATABASE_KINDS, DatabaseKind, Databases
from tests.real_agents.agents import AGENTS, Agent
from tests.real_agents.conversing import Conversation, Place, place

CASES = [
    pytest.param(case, id=f"{case[0].name}-{case[1]}") for case in product(AGENTS, DATABASE_KINDS)
]


@pytest.fixture(scope="module", params=CASES)
def real(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Place]:
    """A server that runs a real agent; skipped with the reason where that cannot be."""
    case: tuple[Agent, DatabaseKind] = request.param
    agent, kind = case
    if (reason := agent.missing()) is not None:
        pytest.skip(reason)
    databases: Databases = request.getfixturevalue(kind)
    url = databases.ready()
    with place(agent, tmp_path_factory.mktemp(agent.name), url) as served:
        yield served
    databases.drop(url)


@pytest.fixture
def chat(real: Place, request: pytest.FixtureRequest) -> Iterator[Conversation]:
    """A new session, named after the test; nothing of its agent is left at the end."""
    found = re.match(r"test_(\w+)", request.node.name)
    assert found is not None
    chat = Conversation(real, found[1])
    yield chat
    chat.let_go()
    chat.until(lambda: real.processes() == [])
