"""Checks plug-ins: one source, and none that the database includes."""

from collections.abc import Iterator

from stateward.api.kinds.additions.plugins import NO_PLUGINS, ONE_SOURCE
from stateward.api.kinds.products import product_of
from stateward.api.kinds.search import SearchCluster
from stateward.api.values.images import MALFORMED, VERSION_PLACE, is_reference
from stateward.api.values.problem import Problem, Severity


def check(cluster: SearchCluster) -> Iterator[Problem]:
    """Yield what is wrong with `plugins` and `pluginSource`."""
    spec, source, product = cluster.spec, cluster.spec.plugin_source, product_of(cluster)
    if source is not None:
        chosen = [value for value in (source.url, source.image, source.claim_name) if value is not None]
        if not spec.plugins:
            yield Problem("spec.pluginSource", next(iter(chosen), ""), NO_PLUGINS)
        if len(chosen) != 1:
            yield Problem("spec.pluginSource", ", ".join(chosen), ONE_SOURCE)
        if source.image is not None and not is_reference(source.image.replace(VERSION_PLACE, spec.version)):
            yield Problem("spec.pluginSource.image", source.image, MALFORMED)
    for i, plugin in enumerate(spec.plugins or ()):
        if product.includes(plugin.name, spec.version):
            first = product.included_plugins[plugin.name]
            text = f"is a part of {product.title} since {first}, and is not installed: remove it from the list"
            yield Problem(f"spec.plugins[{i}].name", plugin.name, text, Severity.WARNING)
