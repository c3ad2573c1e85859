"""Work on packages of others: opening one, and rendering its templates.

Each job can be sent to another process and its result sent back. An allowance limits the work; `do` without one is for
the command line and tests, where nothing else waits.
"""

from typing import Any, ClassVar

import msgspec

from stateward.api.kinds.package import Package as PackageObject
from stateward.api.values.base import Json
from stateward.operator.installations.execution.opening import NoPackageError, open_package
from stateward.packages.format.parameters import BadValue
from stateward.packages.format.records import Package, Task
from stateward.packages.plans.steps import Work, work_of
from stateward.packages.rendering.nested import Offer, nested
from stateward.packages.rendering.objects import Rendered, objects_of
from stateward.packages.rendering.rendering import Place, Use
from stateward.packages.rendering.step_budget import Allowance, Spent
from stateward.packages.rendering.templates import TemplateProblem, Variables


class RenderStep(msgspec.Struct, frozen=True, tag=True):
    """Render the objects of a step."""

    use: Use
    place: Place
    result: ClassVar[Any] = Work
    may_be_small: ClassVar[bool] = True

    @property
    def namespace(self) -> str:
        """The namespace whose work it is."""
        return self.use.namespace

    def do(self, allowance: Allowance | None = None) -> Work:
        """Return the objects of the step; raises TemplateProblem, BadValue, Spent."""
        return work_of(self.use, self.place, allowance)

    def exceeds(self, why: str) -> Exception:
        """Return the error of a step that takes more than it may."""
        where = f"{self.place.phase}/{self.place.step.name}"
        return TemplateProblem("", 0, f"step {where} cannot be rendered: {why}")


class RenderObjects(msgspec.Struct, frozen=True, tag=True):
    """Render the objects of one template."""

    name: str
    source: str
    variables: Variables
    result: ClassVar[Any] = list[Rendered]
    may_be_small: ClassVar[bool] = True

    @property
    def namespace(self) -> str:
        """The namespace whose work it is."""
        return self.variables.namespace

    def do(self, allowance: Allowance | None = None) -> list[Rendered]:
        """Return the objects; raises TemplateProblem, Spent."""
        return objects_of(self.name, self.source, self.variables, allowance)

    def exceeds(self, why: str) -> Exception:
        """Return the error of a template that takes more than it may."""
        return TemplateProblem(self.name, 0, f"cannot be rendered: {why}")


class RenderNested(msgspec.Struct, frozen=True, tag=True):
    """Render the installation of another package."""

    use: Use
    place: Place
    task: Task
    offer: Offer
    result: ClassVar[Any] = dict[str, Any]
    may_be_small: ClassVar[bool] = True

    @property
    def namespace(self) -> str:
        """The namespace whose work it is."""
        return self.use.namespace

    def do(self, allowance: Allowance | None = None) -> Json:
        """Return the installation; raises TemplateProblem, BadValue, Spent."""
        return nested(self.use, self.place, self.task, self.offer, allowance)

    def exceeds(self, why: str) -> Exception:
        """Return the error of a file of parameters that takes more than it may."""
        return TemplateProblem(self.task.spec.parameter_file, 0, f"cannot be rendered: {why}")


class OpenPackage(msgspec.Struct, frozen=True, tag=True):
    """Open a package: unpack it, read it, and try what it renders with the values that it brings."""

    body: PackageObject
    result: ClassVar[Any] = Package
    may_be_small: ClassVar[bool] = False

    @property
    def namespace(self) -> str:
        """The namespace whose work it is; empty for a package of the whole cluster."""
        return self.body.metadata.namespace

    def do(self, allowance: Allowance | None = None) -> Package:  # noqa: ARG002 - each of its templates has bounds
        """Return the package; raises NoPackageError."""
        return open_package(self.body)

    def exceeds(self, why: str) -> Exception:
        """Return the error of a package that takes more than it may."""
        return NoPackageError("PackageBroken", f"{self.body.kind} {self.body.metadata.name} cannot be opened: {why}")


Job = RenderStep | RenderObjects | RenderNested | OpenPackage


class Problem(msgspec.Struct, frozen=True):
    """Why a job has no result: the error that it has met, or the limit that it would pass."""

    kind: str
    message: str
    name: str = ""
    line: int = 0
    public: str = ""

    def error(self, job: Job) -> Exception:
        """Return the error, as the job itself would have raised it."""
        match self.kind:
            case "TemplateProblem":
                found = TemplateProblem(self.name, self.line, self.message)
                found.public = self.public
                return found
            case "BadValue":
                return BadValue(self.message, self.public)
            case "NoPackageError":
                return NoPackageError(self.name, self.message)
            case _:
                return job.exceeds(self.message)


def problem(error: TemplateProblem | BadValue | NoPackageError | Spent) -> Problem:
    """Return an error as it is sent."""
    match error:
        case TemplateProblem():
            return Problem("TemplateProblem", error.message, error.name, error.line, error.public)
        case BadValue():
            return Problem("BadValue", str(error), public=error.public)
        case NoPackageError():
            return Problem("NoPackageError", error.message, error.reason)
        case _:
            return Problem("Spent", str(error))
