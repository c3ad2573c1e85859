"""The same worlds as those of OpenSearch, with Elasticsearch clusters in them."""

import pytest

from stateward.operator.kinds import ELASTICSEARCH, ClusterKind


@pytest.fixture
def cluster_kind() -> ClusterKind:
    return ELASTICSEARCH
