"""Renders the Helm chart without Helm, so that the plain manifests and the chart have one source.

Only the functions that the chart calls are here, with the results of Helm. A test compares the objects with those of
`helm template`.
"""

from collections.abc import Callable, Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, cast

import gotpl
import msgspec
import yaml
from gotpl.funcs.sprig import text_func_map

import stateward
from stateward.api.values.problem import first_of
from stateward.api.yaml_writer import NO_FOLD, to_yaml
from stateward.cli.run.chart_values import problems
from stateward.cli.shared.failures import Failure

Values = Mapping[str, Any]
NAMESPACE = "stateward-system"
"""Namespace of the operator in the manifests."""
NAME = "stateward"
"""Name of the release in the manifests."""
ORDER = (
    "crds",
    "service-account",
    "operator-role",
    "detection-role",
    "leases-role",
    "user-roles",
    "packages-role",
    "foundationdb-role",
    "webhook-role",
    "database-view-role",
    "service",
    "page",
    "pod-disruption-budget",
    "webhook",
    "database-view",
    "network-policy",
    "monitors",
    "rules",
    "dashboard",
    "deployment",
)
"""Templates in the order of creation: the Deployment comes last, so that its pods find their rights."""


def source() -> Path:
    """Return the folder of the chart: in the installed package, or in the checkout that contains the package."""
    package = Path(stateward.__file__).parent
    for folder in (package / "charts", package.parents[1] / "charts" / "stateward"):
        if (folder / "Chart.yaml").exists():
            return folder
    raise Failure(f"the chart is not part of this installation ({package}); install the wheel of Stateward")


def objects(
    given: Values, namespace: str = NAMESPACE, name: str = NAME, folder: Path | None = None
) -> list[dict[str, Any]]:
    """Return the objects of a release in the order of creation, with its namespace; raises Failure."""
    texts = rendered(folder or source(), given, namespace, name)
    found = [document for part in ORDER for document in yaml.load_all(texts[part], yaml.CSafeLoader) if document]
    first = next((at for at, each in enumerate(found) if each["kind"] != "CustomResourceDefinition"), len(found))
    return [*found[:first], namespace_object(namespace), *found[first:]]


def namespace_object(name: str) -> dict[str, Any]:
    """Return the operator's namespace, which admits only pods of the restricted standard."""
    standard = "pod-security.kubernetes.io"
    labels = {
        "app.kubernetes.io/name": NAME,
        f"{standard}/enforce": "restricted",
        f"{standard}/warn": "restricted",
    }
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def rendered(folder: Path, given: Values, namespace: str = NAMESPACE, name: str = NAME) -> dict[str, str]:
    """Return the text of each template by its name without suffix; raises Failure for values that the chart refuses."""
    schema = msgspec.json.decode((folder / "values.schema.json").read_bytes())
    if wrong := first_of([str(each) for each in problems(schema, with_defaults(folder, given))], between="; "):
        raise Failure(f"the chart refuses these values: {wrong}")
    return unchecked(folder, given, namespace, name)


def unchecked(folder: Path, given: Values, namespace: str = NAMESPACE, name: str = NAME) -> dict[str, str]:
    """Return the same for values that are known to be right, such as those from which the schema is generated."""
    chart = _from_yaml((folder / "Chart.yaml").read_text(encoding="utf-8"))
    data = {
        "Values": with_defaults(folder, given),
        "Chart": {"Name": chart["name"], "Version": chart["version"], "AppVersion": chart["appVersion"]},
        "Release": {"Name": name, "Namespace": namespace, "Service": "kubectl"},
        "Files": Files(folder),
    }
    templates = _templates(folder)
    try:
        return {part: templates.render_template(f"{part}.yaml", data) for part in ORDER}
    except gotpl.TemplateError as error:
        raise Failure(f"the chart refuses these values: {error}") from error


def with_defaults(folder: Path, given: Values) -> dict[str, Any]:
    """Return values with the chart's own where there are none."""
    return merged(_from_yaml((folder / "values.yaml").read_text(encoding="utf-8")), given)


def merged(defaults: Values, given: Values) -> dict[str, Any]:
    """Return values as Helm merges them: objects key by key, lists as a whole, and null removes a key."""
    result = dict(defaults)
    for key, value in given.items():
        old = result.get(key)
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict) and isinstance(old, dict):
            result[key] = merged(cast("Values", old), cast("Values", value))
        else:
            result[key] = value
    return result


class Files:
    """The files of the chart, as templates read them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def Get(self, name: str) -> str:  # noqa: N802 - Helm's name
        """Return the content of a file; empty if there is none."""
        path = self._folder / name
        return path.read_text(encoding="utf-8") if path.is_file() else ""

    def Glob(self, pattern: str) -> dict[str, str]:  # noqa: N802 - Helm's name
        """Return the files whose path matches, in order of name."""
        paths = sorted(path for path in (self._folder / "files").rglob("*") if path.is_file())
        names = (path.relative_to(self._folder).as_posix() for path in paths)
        return {name: self.Get(name) for name in names if fnmatch(name, pattern)}


def _templates(folder: Path) -> gotpl.Template:
    sources = {path.name: path.read_text(encoding="utf-8") for path in sorted((folder / "templates").glob("*.*"))}
    found: list[gotpl.Template] = []

    def include(name: str, data: object) -> str:
        return found[0].render_template(name, data)

    functions: dict[str, Callable[..., object]] = {
        **text_func_map(),
        "include": include,
        "toYaml": _as_yaml,
        "fromYaml": _from_yaml,
    }
    found.append(gotpl.Template.from_sources(sources, functions=functions))
    return found[0]


def _from_yaml(text: str) -> Any:
    return yaml.load(text, yaml.CSafeLoader)


def _as_yaml(value: object) -> str:
    return to_yaml(value, sort_keys=True, width=NO_FOLD).rstrip("\n")
