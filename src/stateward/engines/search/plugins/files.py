"""The files of a member's plug-ins: the database's own sites, or the source in the spec; and what engines include."""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from stateward.api.kinds.additions.plugins import Plugin, PluginSource
from stateward.api.kinds.products import product_of
from stateward.api.kinds.search import SearchCluster

SITES: Mapping[str, str] = {
    "opensearch": "https://artifacts.opensearch.org/releases/plugins/{name}/{version}",
    "elasticsearch": "https://artifacts.elastic.co/downloads/elasticsearch-plugins/{name}",
}
"""Folders from which the engines' own tools install plug-ins by name."""
SOURCE = "/stateward/plugin-source"
"""Where a pod has the files of an image or a claim."""


class PluginFile(Struct, frozen=True):
    """A plug-in, and the address or the path of its file."""

    name: str
    place: str


def installed(cluster: SearchCluster, version: str) -> list[Plugin]:
    """Return the plug-ins to install at a version: those that are not part of the engine."""
    product = product_of(cluster)
    return [plugin for plugin in cluster.spec.plugins or () if not product.includes(plugin.name, version)]


def files(cluster: SearchCluster, version: str) -> Iterator[PluginFile]:
    """Yield the files of the plug-ins to install at a version."""
    for plugin in installed(cluster, version):
        yield PluginFile(plugin.name, filled(_place(cluster, plugin), plugin.name, version))


def downloads(cluster: SearchCluster, version: str) -> list[PluginFile]:
    """Return the files that members download at a version; none if they come from an image or a claim."""
    return [file for file in files(cluster, version) if file.place.startswith("https://")]


def filled(text: str, name: str, version: str) -> str:
    """Return a text with the name and the version in their places."""
    return text.replace("{name}", name).replace("{version}", version)


def source(cluster: SearchCluster) -> PluginSource:
    """Return where the files come from; without any field, from the engine's own site."""
    return cluster.spec.plugin_source or PluginSource()


def _place(cluster: SearchCluster, plugin: Plugin) -> str:
    chosen = source(cluster)
    if chosen.image is not None or chosen.claim_name is not None:
        return f"{SOURCE}/{plugin.file}"
    return f"{(chosen.url or SITES[product_of(cluster).engine]).rstrip('/')}/{plugin.file}"
