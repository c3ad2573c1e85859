"""The database distributions that images can be made of, each with the SHA-256 of what must arrive.

A version is added by adding its line here; `sandbox images` lists what there is.
"""

from dataclasses import dataclass

OPENSEARCH = "docker.io/opensearchproject/opensearch"
ELASTICSEARCH = "docker.elastic.co/elasticsearch/elasticsearch"
FOUNDATIONDB = "docker.io/foundationdb/foundationdb"
REAL_FOUNDATIONDB = "docker.io/foundationdb/foundationdb-real"
"""Images with the programs that the environment names, in place of the stand-in."""


@dataclass(frozen=True)
class Artifact:
    """One file of the artifact repository, by its coordinates, and its SHA-256."""

    coordinates: str
    sha256: str

    @property
    def file_name(self) -> str:
        """The name of the file: artifact-version.type."""
        _, artifact, version, kind = self.coordinates.split(":")
        return f"{artifact}-{version}.{kind}"


_OPENSEARCH_HOME = "org.opensearch.distribution.integ-test-zip:opensearch"
_OPENSEARCH_SECURITY = "org.opensearch.plugin:opensearch-security"
_ELASTICSEARCH_HOME = "org.elasticsearch.distribution.integ-test-zip:elasticsearch"

OPENSEARCH_HOMES = {
    "1.3.20": "031e0cdcd14c7a5b9907dff8050fff76c7c2892c7313ea83c4a0bfbaae9265e3",
    "2.17.1": "3154ad7085e32c45344344f60465e428d958679b4a646d64a41a2cfdd6d6af7d",
    "2.19.1": "af7152d8b7f6f1cee09d47276b32b70479fe6dd8cdbb61213f84eb7f8098b261",
    "2.19.3": "760530e522de0a9f06380d4a4a43dfd83c31fa8911f41745513ce715ed5dfd03",
    "2.19.5": "caccd4ab24c88a9278922ef626cd1d92990427aa3a3063f9278200d86dbf49b3",
    "3.4.0": "6540e95fe8bfaedc3eb1c58e829912ea2203af2ac1f88f76411c20a2fc5254a6",
}
# Only these have a security plugin in the repository that starts; the other images are without it. That of 3.4.0
# extends a module (rule-framework) that the repository does not have: sandbox.plugins.rule_framework stands in for it.
OPENSEARCH_SECURITY = {
    "2.19.1": ("2.19.1.0", "94a04f12ac6033902209fac1e4e512618d45beee604bbf0e42c3ed79c55220cf"),
    "2.19.3": ("2.19.3.0", "ae79a0cf1094446e357758904552717c52c2d9b30ec153271b52ec73497510df"),
    "3.4.0": ("3.4.0.0", "fc164c084979f7f793d295b6bca56bf8bee76dafb762adef9f14fa872e0a7596"),
}
# The library that the security plugin of 3.4.0 takes from that module.
COLLECTIONS = Artifact(
    "org.apache.commons:commons-collections4:4.4:jar",
    "1df8b9430b5c8ed143d7815e403e33ef5371b2400aadbe9bda0883762e0846d1",
)
# A real plug-in of the repository, by the version of OpenSearch that it is for.
OPENSEARCH_PLUGINS = {
    "2.17.1": "647f6ae8b8d63debb7abecb54a9ba39f47ab0af216895907b253ad964aed1114",
    "2.19.5": "9f7526a049db68b02d3d650fa1c9b6b28a57bee60282142bbedd500ce4487088",
}
ELASTICSEARCH_HOMES = {
    "7.17.28": "37004c9bd95165eb41b229204bbb9f311d8099d6db22ec22b2f019664f0a75ab",
    "8.17.0": "c3e814c3fa6b31ffaa2bad55c3aa2121fd595b3ffe08a7adf3a4579adbcb91d9",
    "8.19.4": "553088b4c0f60f04d7c63da609aaeae372c483159f4fb8013599e91233aab0de",
    "9.2.0": "bf44938a0490ba2a303d39c9cb64b38963dd08c812ce93e10816e878585bcb6b",
}
# Stand-ins: the version is what they say, and decides who talks to whom. Two that do, and one that does not.
FOUNDATIONDB_VERSIONS = ("7.1.57", "7.1.67", "7.3.63")


_NEWER_JAVA = 21
_NEWER_JAVA_FROM = {OPENSEARCH: 3, ELASTICSEARCH: 9}
"""The first major versions that do not start with less than the newer Java."""


def plugin_artifact(version: str) -> Artifact:
    """Return the plug-in for a version of OpenSearch; raises KeyError for one without."""
    return Artifact(f"org.opensearch.plugin:analysis-common:{version}:jar", OPENSEARCH_PLUGINS[version])


def java_of(repository: str, version: str) -> int:
    """Return the oldest Java that a version of a database runs on, and 17 for all that run on that."""
    return _NEWER_JAVA if int(version.partition(".")[0]) >= _NEWER_JAVA_FROM[repository] else 17


def opensearch_home(version: str) -> Artifact:
    """Return the server's home as a zip."""
    return Artifact(f"{_OPENSEARCH_HOME}:{version}:zip", OPENSEARCH_HOMES[version])


def opensearch_security(version: str) -> Artifact | None:
    """Return the security plugin that fits an OpenSearch version, None if there is none."""
    if version not in OPENSEARCH_SECURITY:
        return None
    plugin, sha256 = OPENSEARCH_SECURITY[version]
    return Artifact(f"{_OPENSEARCH_SECURITY}:{plugin}:zip", sha256)


def elasticsearch_home(version: str) -> Artifact:
    """Return the server's home as a zip."""
    return Artifact(f"{_ELASTICSEARCH_HOME}:{version}:zip", ELASTICSEARCH_HOMES[version])
