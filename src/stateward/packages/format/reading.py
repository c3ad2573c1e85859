"""Reads files into a package, with all problems by file and field.

Folders of `kudo.dev/v1beta1` are read as they are: `operator.yaml`, `params.yaml`, and every `templates/**/*.yaml`.
Other files are ignored, as that format always has; its own folders contain documentation and child packages.
"""

import hashlib
from collections.abc import Mapping
from typing import Any, TypeVar, cast

import msgspec

from stateward.api.values.base import Record
from stateward.api.values.problem import Problem
from stateward.packages.format import yamltext
from stateward.packages.format.records import FORMAT, OperatorFile, Package, Parameter, ParametersFile
from stateward.packages.format.shape import check_shape
from stateward.packages.format.trees import at, items, obj, objs

OPERATOR = "operator.yaml"
PARAMETERS = "params.yaml"
TEMPLATES = "templates/"

R = TypeVar("R", bound=Record)


class InvalidPackage(ValueError):  # noqa: N818 - says what it is
    """Files that are no package; `problems` is never empty, each path begins with the name of its file."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


def belongs(path: str) -> bool:
    """Return whether a file is part of a package."""
    return path in {OPERATOR, PARAMETERS} or (path.startswith(TEMPLATES) and ".yaml" in path.rpartition("/")[2])


def digest_of(files: Mapping[str, bytes]) -> str:
    """Return the digest of a package's files: the same for a folder, a tarball and an object of the API server."""
    whole = hashlib.sha256()
    for path in sorted(path for path in files if belongs(path)):
        whole.update(f"{path}\0{len(files[path])}\0".encode())
        whole.update(files[path])
    return f"sha256:{whole.hexdigest()}"


def read_package(files: Mapping[str, bytes]) -> Package:
    """Return the package of the files (by path below its folder); raises InvalidPackage with every problem.

    `checks` verifies the references between the files.
    """
    problems: list[Problem] = []
    texts = {path: _text(path, content, problems) for path, content in sorted(files.items()) if belongs(path)}
    if OPERATOR not in texts:
        problems.append(Problem(OPERATOR, None, "is required: the file that describes the package"))
    operator = _record(OPERATOR, texts.get(OPERATOR, ""), OperatorFile, problems) if OPERATOR in texts else None
    params = _record(PARAMETERS, texts.get(PARAMETERS, "{}"), ParametersFile, problems)
    parameters = _by_name(params.parameters if params else (), problems)
    if problems or operator is None:
        raise InvalidPackage(problems)
    templates = {path.removeprefix(TEMPLATES): text for path, text in texts.items() if path.startswith(TEMPLATES)}
    return Package(operator, parameters, templates, digest_of(files))


def _text(path: str, content: bytes, problems: list[Problem]) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        problems.append(Problem(path, f"byte {error.start}", "must be text in UTF-8"))
        return ""


def _record(path: str, text: str, record: type[R], problems: list[Problem]) -> R | None:
    try:
        loaded = yamltext.written(text) if record is OperatorFile else _with_values(text)
    except yamltext.NotYaml as error:
        problems.append(Problem(f"{path}:{error.line}" if error.line else path, None, f"is not YAML: {error.message}"))
        return None
    found = [
        Problem(_at(path, problem.path), problem.value, problem.message) for problem in check_shape(loaded, record)
    ]
    if not found:
        found = _version(path, loaded)
    problems += found
    return None if found else msgspec.convert(loaded, record, strict=False)


def _with_values(text: str) -> Any:
    """Load `params.yaml`: everything as written text, except the values of parameters."""
    loaded, typed = yamltext.written(text), yamltext.document(text)
    for item, values in zip(items(at(loaded, "parameters")), objs(at(typed, "parameters")), strict=False):
        obj(item).update({name: values[name] for name in ("default", "enum") if values.get(name) is not None})
    return {} if loaded is None else loaded


def _at(path: str, field: str) -> str:
    return f"{path}: {field}" if field else path


def _version(path: str, loaded: Any) -> list[Problem]:
    version = cast("dict[str, Any]", loaded).get("apiVersion") or FORMAT
    return [] if version == FORMAT else [Problem(f"{path}: apiVersion", version, f"must be {FORMAT}")]


def _by_name(parameters: tuple[Parameter, ...], problems: list[Problem]) -> dict[str, Parameter]:
    found: dict[str, Parameter] = {}
    for i, parameter in enumerate(parameters):
        if parameter.name in found:
            problems.append(Problem(f"{PARAMETERS}: parameters[{i}].name", parameter.name, "is listed twice"))
        found[parameter.name] = parameter
    return found
