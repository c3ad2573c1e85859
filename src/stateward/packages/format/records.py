"""A package as its files describe it: the content of `operator.yaml`, `params.yaml` and `templates/`.

Fields have the names in the files. A package never changes: other content is another package with another digest.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from stateward.api.values.base import Record

FORMAT = "kudo.dev/v1beta1"
"""The `apiVersion` of both files."""


class Strategy(StrEnum):
    """Whether phases or steps run one after the other or all at once."""

    SERIAL = "serial"
    PARALLEL = "parallel"


class TaskKind(StrEnum):
    """What a task does."""

    APPLY = "Apply"
    DELETE = "Delete"
    TOGGLE = "Toggle"
    PIPE = "Pipe"
    OPERATOR = "KudoOperator"
    DUMMY = "Dummy"


class ParameterType(StrEnum):
    """What values a parameter takes."""

    STRING = "string"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    ARRAY = "array"
    MAP = "map"


class PipeKind(StrEnum):
    """The kind of object for a file of a pipe task."""

    SECRET = "Secret"  # noqa: S105 - a kind of object
    CONFIG_MAP = "ConfigMap"


class Maintainer(Record):
    """A maintainer of a package."""

    name: str = ""
    email: str = ""


class PipeFile(Record):
    """One file of a pipe task; `key` is its name in `.Pipes`."""

    kind: PipeKind
    key: str
    file: str = ""
    env_file: str = ""


class TaskSpec(Record):
    """What a task needs; which fields count is up to its kind."""

    resources: tuple[str, ...] = ()
    parameter: str = ""
    pod: str = ""
    pipe: tuple[PipeFile, ...] = ()
    package: str = ""
    instance_name: str = ""
    app_version: str = ""
    operator_version: str = ""
    parameter_file: str = ""
    want_err: bool = False
    fatal: bool = False
    done: bool = False


class Task(Record):
    """Something that a step does."""

    name: str
    kind: TaskKind
    spec: TaskSpec = TaskSpec()


class Step(Record):
    """Tasks that are done together: what they render is one set of objects."""

    name: str
    tasks: tuple[str, ...] = ()


class Phase(Record):
    """Steps, one after the other or all at once."""

    name: str
    strategy: Strategy = Strategy.SERIAL
    steps: tuple[Step, ...] = ()


class Plan(Record):
    """Phases, one after the other or all at once."""

    strategy: Strategy = Strategy.SERIAL
    phases: tuple[Phase, ...] = ()


class OperatorFile(Record):
    """What is in `operator.yaml`."""

    name: str
    operator_version: str
    plans: dict[str, Plan]
    tasks: tuple[Task, ...]
    api_version: str = FORMAT
    description: str = ""
    app_version: str = ""
    kudo_version: str = ""
    kubernetes_version: str = ""
    maintainers: tuple[Maintainer, ...] = ()
    url: str = ""
    namespace_manifest: str = ""


class Parameter(Record):
    """A value that the user of a package may choose."""

    name: str
    display_name: str = ""
    description: str = ""
    required: bool | None = None
    default: Any = None
    trigger: str = ""
    type: ParameterType = ParameterType.STRING
    immutable: bool = False
    enum: tuple[Any, ...] | None = None
    group: str = ""
    advanced: bool = False
    hint: str = ""

    @property
    def owed(self) -> bool:
        """Whether an installation has to give a value, because there is no default.

        A list or map without a default is empty: packages rely on it (Cassandra's tolerations).
        """
        empty = self.type in (ParameterType.ARRAY, ParameterType.MAP)
        return self.default is None and (not empty if self.required is None else self.required)


class Group(Record):
    """A heading for parameters."""

    name: str
    display_name: str = ""
    description: str = ""
    prio: int = 0


class ParametersFile(Record):
    """What is in `params.yaml`."""

    api_version: str = FORMAT
    groups: tuple[Group, ...] = ()
    parameters: tuple[Parameter, ...] = ()


@dataclass(frozen=True, slots=True)
class Package:
    """A package that can be used: its files have been read and refer to nothing that is missing.

    `templates` holds the text of each file by its path below `templates/`.
    """

    operator: OperatorFile
    parameters: Mapping[str, Parameter]
    templates: Mapping[str, str]
    digest: str

    @property
    def name(self) -> str:
        """The name of the package."""
        return self.operator.name

    @property
    def version(self) -> str:
        """The version of the package; that of the application is `operator.app_version`."""
        return self.operator.operator_version

    def task(self, name: str) -> Task:
        """Return a task; raises KeyError."""
        for task in self.operator.tasks:
            if task.name == name:
                return task
        raise KeyError(name)
