"""Which real agents are tried, what does each need to work offline, and how is it installed?

`TURNLOG_REAL_AGENTS` opts in. Programs are looked for in the folders that it names, as in `PATH`,
and then in `PATH`; `1` names none.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from infrastructure.harness.definitions import Counting
from tests.real_agents.bodies import NAME

VARIABLE: Final = "TURNLOG_REAL_AGENTS"
KEY: Final = "MODEL_KEY"
MARK: Final = "REAL_AGENT"
_NOTHING: Final[Mapping[str, str]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """One agent.

    Attributes:
        command: Its program and the arguments that have it speak the protocol.
        package: What is installed to get it.
        files: Returns what lies in its home, by path, for a model at an address.
        environment: Returns its variables, for the same address.
        config: What its sessions are set up with.
        usage: What the tokens that it tells count.
    """

    name: str
    command: tuple[str, ...]
    package: str
    files: Callable[[str], Mapping[str, str]] = field(default=lambda _: _NOTHING)
    environment: Callable[[str], Mapping[str, str]] = field(default=lambda _: _NOTHING)
    config: Mapping[str, str] = field(default_factory=dict[str, str])
    usage: Counting = "prompt"

    def program(self) -> str | None:
        """Return where its program is; None if it is not installed."""
        return shutil.which(self.command[0], path=_folders())

    def missing(self) -> str | None:
        """Return why it is not tried; None if it is."""
        if not os.environ.get(VARIABLE):
            return f"real agents are tried only where {VARIABLE} is set: docs/harnesses.md"
        if self.program() is None:
            return f"{self.command[0]} is not installed: {self.package}"
        return None

    def definition(self, home: Path, model_url: str, mark: str) -> str:
        """Return the table of a settings file that defines it; its home is filled."""
        for path, content in self.files(model_url).items():
            (home / path).parent.mkdir(parents=True, exist_ok=True)
            (home / path).write_text(content)
        work = home / "work"
        work.mkdir(parents=True)
        variables = {
            "HOME": str(home),
            "XDG_CONFIG_HOME": str(home / "config"),
            "XDG_DATA_HOME": str(home / "data"),
            "XDG_CACHE_HOME": str(home / "cache"),
            "XDG_STATE_HOME": str(home / "state"),
            "PATH": _folders(),
            KEY: "none",
            MARK: mark,
            **{
                name: value.format(home=home) for name, value in self.environment(model_url).items()
            },
        }
        return "\n".join(
            (
                f"[harnesses.{self.name}]",
                f"command = {json.dumps([self.program(), *self.command[1:]])}",
                f"folder = {json.dumps(str(work))}",
                "start_timeout_s = 90",
                f'usage = "{self.usage}"',
                f"[harnesses.{self.name}.config]",
                *_lines(self.config),
                f"[harnesses.{self.name}.environment]",
                *_lines(variables),
            )
        )


def _lines(table: Mapping[str, str]) -> Iterator[str]:
    return (f"{key} = {json.dumps(value)}" for key, value in table.items())


def _folders() -> str:
    named = os.environ.get(VARIABLE, "")
    return os.pathsep.join(part for part in (named, os.environ["PATH"]) if part and part != "1")


def _codex_files(url: str) -> Mapping[str, str]:
    settings = f"""
model = "{NAME}"
model_provider = "local"
[model_providers.local]
name = "local"
base_url = "{url}"
wire_api = "responses"
env_key = "{KEY}"
"""
    return {"codex/config.toml": settings}


def _opencode_files(url: str) -> Mapping[str, str]:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "local",
        "options": {"baseURL": url, "apiKey": "none"},
        "models": {NAME: {"name": NAME}},
    }
    settings = {
        "model": f"local/{NAME}",
        "provider": {"local": provider},
        "permission": {"bash": {"*": "ask", "echo *": "allow"}},
    }
    return {"config/opencode/opencode.json": json.dumps(settings)}


def _vibe_files(url: str) -> Mapping[str, str]:
    settings = f"""
active_model = "{NAME}"
enable_telemetry = false
enable_update_checks = false
[[providers]]
name = "local"
api_base = "{url}"
api_key_env_var = "{KEY}"
[[models]]
name = "{NAME}"
provider = "local"
alias = "{NAME}"
[session_logging]
generate_titles = false
[experiments]
enable = false
"""
    return {"vibe/config.toml": settings}


CODEX: Final = Agent(
    name="codex-acp",
    command=("codex-acp",),
    package="npm install --prefix FOLDER @agentclientprotocol/codex-acp",
    files=_codex_files,
    environment=lambda _: {"CODEX_HOME": "{home}/codex", "OPENAI_API_KEY": "none"},
    config={"mode": "read-only"},
)
OPENCODE: Final = Agent(
    name="opencode",
    command=("opencode", "acp"),
    package="npm install --prefix FOLDER opencode-ai",
    files=_opencode_files,
    environment=lambda _: {
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
    },
)
VIBE: Final = Agent(
    name="vibe-acp",
    command=("vibe-acp",),
    package="pip install mistral-vibe, in an environment of its own",
    files=_vibe_files,
    environment=lambda _: {"VIBE_HOME": "{home}/vibe", "MISTRAL_API_KEY": "none"},
    usage="session",
)
QWEN: Final = Agent(
    name="qwen",
    command=("qwen", "--acp", "--auth-type", "openai"),
    package="npm install --prefix FOLDER @qwen-code/qwen-code",
    environment=lambda url: {
        "OPENAI_API_KEY": "none",
        "OPENAI_BASE_URL": url,
        "OPENAI_MODEL": NAME,
    },
)
AGENTS: Final = (CODEX, OPENCODE, VIBE, QWEN)
