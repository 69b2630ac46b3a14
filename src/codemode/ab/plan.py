"""
The plan: what is run, how often and until when, fixed before the first call.

Its hash is kept with the results; a changed plan does not continue old results.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from codemode.ab.tasks import TASKS
from codemode.ab.world import TOOLSETS
from codemode.errors import ConfigError

SurfaceName: TypeAlias = Literal["dispatch", "mcp", "search", "stubs"]
SURFACES: tuple[SurfaceName, ...] = ("dispatch", "mcp", "search", "stubs")
SCRIPTED = "scripted"
"""A model whose name begins so is a stand-in; its numbers are no result."""


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ModelSection(Section):
    """
    Where the model is.

    Args:
        base_url: ``/chat/completions`` (openai) or ``/v1/messages`` (anthropic) is added.
        api_key_env: Environment variable with the key; None where none is needed.
        output_limit_name: What the service calls the limit on a message's tokens (openai
            only; anthropic has one name).
        input_usd, cached_usd, output_usd: Per million tokens.
    """

    api: Literal["openai", "anthropic"]
    base_url: Annotated[str, Field(pattern=r"^https?://[^\s]+$")]
    name: Annotated[str, Field(min_length=1)]
    api_key_env: str | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    max_output_tokens: Annotated[int, Field(ge=16)] = 4096
    output_limit_name: Literal["max_completion_tokens", "max_tokens"] = "max_completion_tokens"
    timeout_s: Annotated[float, Field(gt=0, le=3600)] = 120.0
    input_usd: Annotated[float, Field(ge=0)] | None = None
    cached_usd: Annotated[float, Field(ge=0)] | None = None
    output_usd: Annotated[float, Field(ge=0)] | None = None
    send_seed: bool = False


class CapsSection(Section):
    """When a cap is reached no further session starts; money needs prices."""

    max_tokens: Annotated[int, Field(gt=0)]
    max_usd: Annotated[float, Field(gt=0)] | None = None
    max_seconds: Annotated[float, Field(gt=0)]
    max_turns: Annotated[int, Field(gt=0, le=200)] = 25
    session_seconds: Annotated[float, Field(gt=0)] = 300.0


class StopSection(Section):
    """
    When to stop before the sample is complete.

    Args:
        model_errors_in_a_row: Sessions that the model's service broke off.
    """

    model_errors_in_a_row: Annotated[int, Field(gt=0)] = 3


class Plan(Section):
    """
    The whole file.

    Args:
        sample_size: Sessions of each surface: tasks times seeds, said twice on purpose.
        language: Of scripts and stubs.
        baseline: The surface that the others are compared with.
    """

    name: Annotated[str, Field(min_length=1)]
    sample_size: Annotated[int, Field(gt=0)]
    seeds: Annotated[tuple[int, ...], Field(min_length=1)]
    tasks: Annotated[tuple[str, ...], Field(min_length=1)] = ("all",)
    surfaces: Annotated[tuple[SurfaceName, ...], Field(min_length=1)] = SURFACES
    baseline: SurfaceName = "dispatch"
    language: Literal["typescript", "python"] = "python"
    engine: Literal["isolate", "container"] = "isolate"
    toolsets: tuple[str, ...] = TOOLSETS
    model: ModelSection
    caps: CapsSection
    stop: StopSection = StopSection()

    @model_validator(mode="after")
    def _fits_together(self) -> Plan:
        for what, given in (
            ("seeds", self.seeds), ("tasks", self.tasks), ("surfaces", self.surfaces),
        ):  # fmt: skip
            if len(set(given)) != len(given):
                raise ValueError(f"{what} names something twice")
        if self.tasks != ("all",):
            for name in self.tasks:
                if name not in TASKS:
                    raise ValueError(f"there is no task {name!r}; codemode ab tasks lists them")
        if lacking := sorted(set(TOOLSETS) - set(self.toolsets)):
            raise ValueError(f"toolsets lacks what tasks need: {', '.join(lacking)}")
        if self.baseline not in self.surfaces:
            raise ValueError(f"the baseline {self.baseline!r} is not among the surfaces")
        n = len(self.task_names) * len(self.seeds)
        if self.sample_size != n:
            raise ValueError(
                f"sample_size is {self.sample_size}, but {len(self.task_names)} tasks times "
                f"{len(self.seeds)} seeds are {n}"
            )
        prices = (self.model.input_usd, self.model.output_usd)
        if self.caps.max_usd is not None and None in prices:
            raise ValueError("caps.max_usd needs model.input_usd and model.output_usd")
        return self

    @property
    def task_names(self) -> tuple[str, ...]:
        return tuple(TASKS) if self.tasks == ("all",) else self.tasks

    @property
    def is_scripted(self) -> bool:
        return self.model.name.startswith(SCRIPTED)

    @property
    def hash(self) -> str:
        """Of every value, not of comments and order."""
        return hashlib.sha256(self.canonical().encode()).hexdigest()

    def canonical(self) -> str:
        return json.dumps(self.model_dump(mode="json"), sort_keys=True)

    def cost_usd(self, *, input: int, cached: int, output: int) -> float | None:
        """None without prices. Cached tokens cost like others unless a price is given."""
        model = self.model
        if model.input_usd is None or model.output_usd is None:
            return None
        cached_usd = model.input_usd if model.cached_usd is None else model.cached_usd
        return (
            input * model.input_usd + cached * cached_usd + output * model.output_usd
        ) / 1_000_000


def read_plan(path: Path) -> Plan:
    """
    Read a plan, TOML or JSON by its name.

    Raises:
        ConfigError: Naming file and key.
    """
    try:
        text = path.read_text(encoding="utf-8")
        raw = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except OSError as error:
        raise ConfigError(
            f"{path}: {error.strerror}", hint="codemode ab init writes one."
        ) from None
    except (ValueError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from None
    return parse_plan(raw, origin=str(path))


def parse_plan(raw: object, *, origin: str) -> Plan:
    """
    Raises:
        ConfigError: On the first value that does not fit.
    """
    try:
        return Plan.model_validate(raw)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        said = first["msg"].removeprefix("Value error, ")
        raise ConfigError(f"{origin}: {f'{key}: ' if key else ''}{said}") from None


TEMPLATE = """\
# Plan of an experiment. Everything here is fixed before the first call; a changed plan needs
# a new folder for its results.

name = "first look"

# Sessions of each surface: tasks x seeds. Said twice on purpose.
sample_size = 60
seeds = [1, 2]
tasks = ["all"]

surfaces = ["dispatch", "mcp", "search", "stubs"]
baseline = "dispatch"
language = "python"        # of scripts and stubs: python or typescript
engine = "isolate"

[model]
api = "openai"             # openai or anthropic: the form of the requests
base_url = "http://127.0.0.1:8080/v1"   # /chat/completions is added; anthropic: /v1/messages
name = "my-model"
# api_key_env = "MY_API_KEY"            # name of the variable, never the key
# temperature = 0.0
# output_limit_name = "max_tokens"      # for servers that do not know max_completion_tokens
# input_usd = 1.0                       # per million tokens; needed for caps.max_usd
# output_usd = 5.0

[caps]
max_tokens = 20_000_000
# max_usd = 25.0
max_seconds = 14_400
max_turns = 25             # model messages in one session
session_seconds = 300

[stop]
model_errors_in_a_row = 3
"""
