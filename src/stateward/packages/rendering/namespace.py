"""The namespace that `package install --create-namespace` creates, from the package's `namespaceManifest`.

As in the format's first engine, the manifest gives labels and annotations, and the user the name.
"""

from stateward.api.values.base import Json
from stateward.packages.format.trees import obj
from stateward.packages.rendering.objects import objects_of
from stateward.packages.rendering.rendering import Use
from stateward.packages.rendering.templates import TemplateProblem


def namespace_of(use: Use) -> Json:
    """Return the namespace of an installation; raises TemplateProblem, BadValue."""
    name = use.package.operator.namespace_manifest
    bare: Json = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": use.namespace}}
    if not name:
        return bare
    found = objects_of(name, use.package.templates[name], use.variables("", "", ""))
    if [rendered.identity[:2] for rendered in found] != [("", "Namespace")]:
        kinds = ", ".join(rendered.identity.kind for rendered in found) or "nothing"
        raise TemplateProblem(
            name, 0, f"must render to one Namespace, because it is namespaceManifest; it renders {kinds}"
        )
    (rendered,) = found
    meta = {**obj(rendered.body.get("metadata")), "name": use.namespace}
    return {**rendered.body, "metadata": meta}
