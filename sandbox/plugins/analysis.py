"""The plug-in `analysis-more`: filters and tokenizers of OpenSearch that the reduced distribution does not have."""

from collections.abc import Iterator

from sandbox.images import pins
from sandbox.images.layers import Entry
from sandbox.images.maven import fetch
from sandbox.plugins.packing import packed
from sandbox.progress import Progress

_CLASS = "org.opensearch.analysis.common.CommonAnalysisPlugin"


def analysis_plugins(progress: Progress) -> Iterator[Entry]:
    """Yield its zip files, as its project would publish them; raises SandboxError if one cannot be had."""
    for version in pins.OPENSEARCH_PLUGINS:
        jar = fetch(pins.plugin_artifact(version), progress)
        about = {"opensearch.version": version, "java.version": "11", "classname": _CLASS}
        yield packed("analysis-more", version, about, {jar.name: jar.read_bytes()})
