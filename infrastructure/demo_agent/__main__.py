"""The agent as a process: ACP on its input and output until the input ends."""

import asyncio
import os

from infrastructure.demo_agent.agent import Agent
from infrastructure.demo_agent.surroundings import Surroundings
from infrastructure.demo_agent.wire import over_stdio


async def main() -> None:
    """Serve whoever started this process."""
    surroundings = Surroundings.of(os.environ)
    ballast = b"x" * (surroundings.memory_mb * 2**20)
    await asyncio.sleep(surroundings.start_ms / 1000)
    await Agent(await over_stdio(), surroundings).serve()
    del ballast


if __name__ == "__main__":
    asyncio.run(main())
