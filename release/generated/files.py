"""Every generated file of the repository, by its path."""

from collections.abc import Mapping
from pathlib import Path

from release import version
from release.generated import dashboard, events, labels, monitoring, reasons, values
from stateward.api import generate
from stateward.api.yaml_writer import to_yaml
from stateward.cli.run.chart import NAMESPACE, namespace_object, unchecked

CHART = Path("charts/stateward")
_HEADER = "# Generated from the templates of the chart; renew it with `make docs`.\n"
OPTIONAL: Mapping[str, tuple[str, dict[str, object], tuple[str, ...]]] = {
    "webhook": ("webhook", {"webhook": True}, ("webhook-role", "webhook")),
    "network-policy": ("network", {"networkPolicies": True}, ("network-policy",)),
}
"""Manifests of what is off by default: their folder, the values that enable them, and their templates."""


def files(root: Path) -> Mapping[Path, str]:
    """Return the content of every generated file, by its path from the root of the repository."""
    text = (root / CHART / "values.yaml").read_text(encoding="utf-8")
    rules = (root / CHART / "files/rules.yaml").read_text(encoding="utf-8")
    return {
        **generate.files(),
        **version.stamped(root, version.final(version.declared(root))),
        CHART / "values.schema.json": values.schema(text),
        CHART / "README.md": values.readme(text),
        CHART / "files/dashboard.json": dashboard.dashboard(),
        Path("docs/reference/helm-values.md"): values.page(text),
        Path("docs/reference/metrics.md"): monitoring.metrics_page(),
        Path("docs/reference/wait-reasons.md"): reasons.page(),
        Path("docs/reference/events.md"): events.page(),
        Path("docs/reference/labels.md"): labels.page(root / "src/stateward"),
        Path("docs/reference/alerts.md"): monitoring.alerts_page(rules),
        **manifests(root / CHART),
    }


def manifests(chart: Path) -> Mapping[Path, str]:
    """Return the plain manifests for `kubectl apply -k`: the templates with default values."""
    plain = {part: text for part, text in unchecked(chart, {}).items() if part != "crds" and tidy(text)}
    found = {CHART / "manifests" / f"{part}.yaml": _HEADER + tidy(text) for part, text in plain.items()}
    for name, (folder, given, parts) in OPTIONAL.items():
        texts = unchecked(chart, given)
        found[CHART / folder / f"{name}.yaml"] = _HEADER + "---\n".join(tidy(texts[part]) for part in parts)
    namespace = to_yaml(namespace_object(NAMESPACE))
    return {**found, CHART / "manifests/namespace.yaml": _HEADER + namespace}


def tidy(text: str) -> str:
    """Return a rendered template without empty lines and spaces at the ends of lines."""
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines() if line.strip())
