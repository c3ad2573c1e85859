"""Questions that were made to fill the operator's memory: anyone who reaches the port may ask one."""

import tracemalloc

import msgspec

from stateward.operator.admission import search_objects
from tests.unit.operator.admission.test_admission_server import question


async def test_a_question_takes_no_more_memory_than_its_size_allows() -> None:
    """70 KB took 100 MiB; 8 MiB are accepted, without a client certificate."""
    body = {"k" * 50_000: {f"a{i}": 1 for i in range(2000)}}
    spec = {"cluster": {"kind": "OpenSearchCluster", "name": "logs"}, "object": "clusterSettings", "body": body}
    asked = msgspec.json.encode(question({"metadata": {"name": "one"}, "spec": spec}, kind="SearchObject"))
    tracemalloc.start()
    try:
        await search_objects.respond(asked)
        taken = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert taken < 20 << 20
