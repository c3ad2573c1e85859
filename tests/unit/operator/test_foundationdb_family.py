"""What the operator tells the driver of members, by their objects alone."""

from typing import Any

import msgspec

from stateward.api import names
from stateward.kube.pods import Pod
from stateward.operator.foundationdb import domains
from tests.unit.engines.foundationdb_town import cluster


def pod(member: str, node: str) -> Pod:
    body: dict[str, Any] = {
        "metadata": {"name": f"{member}-0", "labels": {names.LABEL_MEMBER: member}},
        "spec": {"nodeName": node},
    }
    return msgspec.convert(body, Pod)


def test_what_fails_together_is_known_of_members_without_pods_too() -> None:
    states = [{"name": "ledger-log-0", "state": "Down", "node": "n1"}, {"name": "ledger-log-1", "state": "Ready"}]
    of = cluster()
    status = msgspec.convert({**msgspec.to_builtins(of.status), "memberStates": states}, type(of.status))
    of = msgspec.structs.replace(of, status=status)
    found = domains(of, (pod("ledger-log-1", "n2"), pod("ledger-log-2", "")))
    assert found == {"ledger-log-0": "n1", "ledger-log-1": "n2"}
    each = msgspec.structs.replace(cluster(faultDomain="Member"), status=status)
    assert domains(each, ()) == {"ledger-log-0": "ledger-log-0"}
