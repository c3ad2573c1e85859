"""What the operator tells the driver of members, by their objects alone."""

from typing import Any

import msgspec

from stateward.api import names
from stateward.kube.pods import Pod
from stateward.operator.foundationdb import addresses, domains
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


def test_an_address_is_remembered_after_its_pod_and_a_pods_own_counts_first() -> None:
    states = [{"name": f"ledger-log-{i}", "state": "Down", "address": f"10.0.0.{i}"} for i in range(2)]
    states.append({"name": "ledger-log-3", "state": "Down", "address": "10.0.0.9"})
    removals = [{"name": "ledger-log-2", "reason": "gone", "by": "Person", "address": "10.0.0.2"}]
    of = cluster()
    more = {"memberStates": states, "pendingRemovals": removals}
    status = msgspec.convert({**msgspec.to_builtins(of.status), **more}, type(of.status))
    running = msgspec.convert({**msgspec.to_builtins(pod("ledger-log-1", "n1")), "status": {"podIP": "10.0.0.9"}}, Pod)
    found = addresses(msgspec.structs.replace(of, status=status), (running, pod("ledger-log-0", "n1")), {"log": 1})
    assert found == {
        "ledger-log-0": {"10.0.0.0:4500"},
        "ledger-log-1": {"10.0.0.9:4500"},
        "ledger-log-2": {"10.0.0.2:4500"},
    }
