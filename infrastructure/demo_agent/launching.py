"""How is a module of this package started as a process of its own, from whatever folder?"""

import os
import sys
from pathlib import Path


def command(module: str = "infrastructure.demo_agent") -> tuple[str, ...]:
    """Return the words that start `module`; without the working folder, which is not ours."""
    return (sys.executable, "-P", "-m", module)


def environment() -> dict[str, str]:
    """Return this process's environment, in which the package is found."""
    root = str(Path(__file__).parents[2])
    found = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{found}" if found else root}
