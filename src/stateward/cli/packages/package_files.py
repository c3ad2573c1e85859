"""Packages and values from the local machine; a problem with them ends the command with a one-line error."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from stateward.api.values.base import Json
from stateward.api.values.problem import Problem, errors
from stateward.cli.packages.package_registry import fetched, in_folder, is_layout
from stateward.cli.shared.failures import Failure
from stateward.packages.distribution.archive import LARGEST, LARGEST_PLAIN, MOST_FILES, BadArchive, check_path, unpack
from stateward.packages.format import yamltext
from stateward.packages.format.parameters import BadValue, check_values
from stateward.packages.format.reading import OPERATOR, InvalidPackage, belongs, read_package
from stateward.packages.format.records import Package
from stateward.packages.rendering.namespace import namespace_of
from stateward.packages.rendering.objects import Rendered
from stateward.packages.rendering.rendering import Use
from stateward.packages.rendering.step_objects import render_plan
from stateward.packages.rendering.templates import TemplateProblem
from stateward.packages.review.checks import check_package, check_references
from stateward.registry.references import is_reference


def files_at(path: str) -> dict[str, bytes]:
    """Return the files of a folder, a tarball, an OCI layout or a registry reference, by path; raise Failure."""
    if is_reference(path):
        return fetched(path)
    place = Path(path)
    if place.is_dir():
        return in_folder(place) if is_layout(place) else _folder(place)
    folder, _, tag = path.rpartition(":")
    if folder and not place.exists() and is_layout(Path(folder)):
        return in_folder(Path(folder), tag)
    if place.stat().st_size > LARGEST_PLAIN:
        raise Failure(f"{path}: a package may have {LARGEST} bytes together, and this has more")
    try:
        return unpack(place.read_bytes())
    except BadArchive as error:
        raise Failure(f"{path}: {error}; a package is a folder with {OPERATOR}, or a tarball of one") from error


def _folder(folder: Path) -> dict[str, bytes]:
    found = {str(file.relative_to(folder)): file for file in sorted(folder.rglob("*")) if file.is_file()}
    mine = {path: file for path, file in found.items() if belongs(path)}
    inside = folder.resolve()
    for path, file in mine.items():
        try:
            check_path(path)
        except BadArchive as error:
            raise Failure(f"{folder}: {error}") from error
        # A symbolic link in an untrusted folder could bring any file of this machine into the package.
        if not file.resolve().is_relative_to(inside):
            raise Failure(f"{folder}: {path}: leads out of the package, to {file.resolve()}")
    if sum(file.stat().st_size for file in mine.values()) > LARGEST or len(mine) > MOST_FILES:
        raise Failure(f"{folder}: a package may have {LARGEST} bytes and {MOST_FILES} files, and this has more")
    return {path: file.read_bytes() for path, file in mine.items()}


def working(path: str) -> tuple[dict[str, bytes], Package]:
    """Return the files of a valid package; raise Failure."""
    files = {name: content for name, content in files_at(path).items() if belongs(name)}
    try:
        found = read_package(files)
    except InvalidPackage as error:
        raise Failure(f"{path} is not a package:\n" + lines(error.problems)) from error
    if wrong := errors(check_package(found)):
        raise Failure(f"{path} is not a valid package:\n" + lines(wrong))
    return files, found


def load(path: str) -> Package:
    """Return the package of a folder or tarball, if nothing in it refers to something missing; raise Failure."""
    try:
        found = read_package(files_at(path))
    except InvalidPackage as error:
        raise Failure(f"{path} is not a package:\n" + lines(error.problems)) from error
    if wrong := check_references(found):
        raise Failure(f"{path} is not a valid package:\n" + lines(wrong))
    return found


def values_of(given: tuple[str, ...], file: str) -> dict[str, Any]:
    """Return values from a file, overridden by `NAME=VALUE` options; raise Failure."""
    values = _values_in(file) if file else {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            raise Failure(f"{text}: a parameter is given as NAME=VALUE")
        values[name] = value
    return values


def _values_in(file: str) -> dict[str, Any]:
    try:
        found = yamltext.document(Path(file).read_text(encoding="utf-8"))
    except yamltext.NotYaml as error:
        where = f"{file}:{error.line}" if error.line else file
        raise Failure(f"{where}: is not YAML: {error.message}") from error
    except UnicodeDecodeError as error:
        raise Failure(f"{file}: byte {error.start}: must be text in UTF-8") from error
    if found is not None and not isinstance(found, dict):
        raise Failure(f"{file}: must be an object of values by the names of parameters")
    return cast("dict[str, Any]", found or {})


def checked(found: Package, values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the values; raise Failure with the names of those that the package does not accept."""
    if problems := check_values(found, values):
        raise Failure("these parameters are not accepted:\n" + lines(problems))
    return values


def rendered_plan(use: Use, plan: str) -> list[Rendered]:
    """Return the objects of a plan; raise Failure for a template that fails or a missing plan."""
    plans = use.package.operator.plans
    if plan not in plans:
        raise Failure(f"{use.package.name} has no plan {plan!r}; it has {', '.join(plans)}")
    try:
        return render_plan(use, plan)
    except (TemplateProblem, BadValue) as error:
        raise Failure(str(error)) from error


def described_namespace(package: Package, name: str, namespace: str, values: Mapping[str, Any]) -> Json:
    """Return the namespace of an installation as the package describes it; raise Failure."""
    try:
        return namespace_of(Use(package, name, namespace, values))
    except (TemplateProblem, BadValue) as error:
        raise Failure(str(error)) from error


def lines(problems: list[Problem]) -> str:
    """Return problems, one per line."""
    return "\n".join(f"  {problem}" for problem in problems)
