"""The same worlds as those of OpenSearch, with Elasticsearch clusters in them."""

import pytest

from stateward.operator.objects.kinds import ELASTICSEARCH, ClusterKind


@pytest.fixture
def cluster_kind() -> ClusterKind:
    return ELASTICSEARCH
