"""The same worlds as those of OpenSearch, with FoundationDB clusters of the stand-in in them.

Where `FDBSERVER` names the program of a real one, the cases of `test_real.py` run, too.
"""

import os

import pytest

from sandbox import Sandbox
from stateward.operator.objects.kinds import FOUNDATIONDB, ClusterKind
from tests.e2e.clusters import Clusters
from tests.e2e.foundationdb.database import Fdb
from tests.e2e.operators import kubectl

collect_ignore = [] if os.environ.get("FDBSERVER") else ["test_real.py"]
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
