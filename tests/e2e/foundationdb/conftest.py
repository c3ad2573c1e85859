"""The same worlds as those of OpenSearch, with FoundationDB clusters of the stand-in in them.

Where `FDBSERVER` names the program of a real one, the cases of `test_real.py`, `tls/test_real_tls.py` and
`metrics/test_real_metrics.py` run, too, and where `FDBSERVER_NEXT` names another, that of `test_real_release.py`.
"""

import os

import pytest

from sandbox import Sandbox
from stateward.operator.objects.kinds import FOUNDATIONDB, ClusterKind
from tests.e2e.clusters import Clusters
from tests.e2e.foundationdb.database import Fdb
from tests.e2e.operators import kubectl

NEEDS = {
    "test_real.py": ("FDBSERVER",),
    "tls/test_real_tls.py": ("FDBSERVER",),
    "metrics/test_real_metrics.py": ("FDBSERVER",),
    "test_real_release.py": ("FDBSERVER", "FDBSERVER_NEXT"),
}
collect_ignore = [name for name, needed in NEEDS.items() if not all(os.environ.get(one) for one in needed)]
ACCOUNTS = [f"--serviceaccount=stateward-system:{name}" for name in ("stateward", "stateward-detection")]


@pytest.fixture
def cluster_kind() -> ClusterKind:
    return FOUNDATIONDB


@pytest.fixture
def fdb(stateward: Sandbox, clusters: Clusters) -> Fdb:
    """The command line of the clusters in the test's namespace, which the operator may use there."""
    binding = ["create", "rolebinding", "stateward-foundationdb", "--clusterrole=stateward-foundationdb"]
    kubectl(stateward, *binding, "-n", clusters.namespace, *ACCOUNTS)
    return Fdb(stateward, clusters)
