import asyncio
import pytest
from stateward.kube.client.client import DeleteOptions, Preconditions
from stateward.kube.objects.metadata import Key
from stateward.simulation.cluster.scheduler import CLAIMS
from stateward.simulation.world.world import NAMESPACE
from tests.simulation.foundationdb.scenario import KIND, NAME, PODS, SETS, Scenario, pool, pools
from tests.simulation.foundationdb.test_first_coordinators import begun, FILE

pytestmark = pytest.mark.simulation

def delete(s, kind, key):
    found = s.world.store.get(kind, key)
    if found is not None:
        s.world.server.delete(kind, key, DeleteOptions(Preconditions(found.uid)))

def unhurt(s):
    s.check()

async def settle(s, secs=5400.0):
    ok = await s.settled(secs)
    print("DOING", s.doing)
    print("MEMBERS", sorted(s.members()))
    for k in s.world.foundationdb.databases: print("DB", k)
    assert ok, s.doing
    s.check()

def with_class(name, **kw):
    return [pool("storage", 5) | {"storage": {"size": "1Gi", "storageClass": name}}, *pools()[1:]]

async def test_t1_wrong_class_deleted_and_created_again():
    with Scenario(pools=with_class("mistyped")).logged() as s:
        begun(s)
        s.process.start()
        await asyncio.sleep(120.0)
        print(s.doing)
        delete(s, KIND, Key(NAMESPACE, NAME))
        await asyncio.sleep(120.0)
        print([c.key.name for c in s.world.store.all(CLAIMS)], s.members())
        s.spec["pools"] = pools()
        begun(s)
        await settle(s)

async def test_t2_owned_volumes_created_again_at_once():
    with Scenario(volumes={"whenDeleted": "Delete"}).logged() as s:
        await s.begin()
        delete(s, KIND, Key(NAMESPACE, NAME))
        await asyncio.sleep(0.5)
        s._watching.cancel()
        s.world.kubelets.behavior.files = (0.0, 0.1)
        begun(s)
        await settle(s)

async def test_t2b_owned_volumes_before_creation():
    with Scenario(volumes={"whenDeleted": "Delete"}).logged() as s:
        begun(s)
        s.process.start()
        await asyncio.sleep(20.0)
        s.world.kubelets.behavior.files = (0.0, 0.1)
        delete(s, KIND, Key(NAMESPACE, NAME))
        await asyncio.sleep(0.5)
        begun(s)
        await settle(s)

async def test_t4_node_lost_before_creation():
    with Scenario(where="node").logged() as s:
        begun(s)
        s.process.start()
        assert await s.until(lambda: "logs-storage-1-0" in s.pods() and s.world.store.get(PODS, Key(NAMESPACE,"logs-storage-1-0")).doc["spec"].get("nodeName"))
        node = s.world.store.get(PODS, Key(NAMESPACE,"logs-storage-1-0")).doc["spec"]["nodeName"]
        await asyncio.sleep(2.5)
        s.world.nodes.remove(node)
        await asyncio.sleep(600)
        print(s.doing)
        s.edit(members={"replace": ["logs-storage-1"]})
        await asyncio.sleep(600)
        print(s.doing)
        delete(s, CLAIMS, Key(NAMESPACE, "data-logs-storage-1"))
        delete(s, PODS, Key(NAMESPACE, "logs-storage-1-0"))
        await settle(s)

async def test_t5_shrink_because_there_is_no_room():
    with Scenario(capacity=1, pools=pools(storage=5, log=4, stateless=4)).logged() as s:
        begun(s)
        s.process.start()
        await asyncio.sleep(300)
        print(s.doing)
        pending = [k.key.name for k in s.world.store.all(PODS) if not k.doc["spec"].get("nodeName")]
        print(pending)
        s.edit(pools=pools(storage=4, log=4, stateless=4))
        await settle(s)

from stateward.api.values import names
NEW="7.3.63"
def phases(s):
    return {x.key.name: x.doc["metadata"].get("annotations", {}).get(names.ANNOTATION_PHASE) for x in s.world.store.all(PODS)}
def programs(s):
    return {w.locality["instance_id"]: w.version for w in s.database.processes.values()}
def switched(s):
    import base64
    n=0
    for x in s.world.store.all("/secrets"):
        d=x.doc.get("data") or {}
        if "program" in d and base64.b64decode(d["program"]).decode().startswith("7.3"): n+=1
    return n

@pytest.mark.parametrize("renamed", ["storage", "log", "stateless"])
async def test_t6_pool_renamed_when_switched(renamed):
    with Scenario(agents=True).logged() as s:
        await s.begin()
        s.edit(version=NEW)
        assert await s.until(lambda: switched(s) >= 1, 7200)
        print("switched", switched(s), set(phases(s).values()))
        s.edit(pools=[{**p, "name": "x"+p["name"]} if p["name"]==renamed else p for p in pools()])
        await asyncio.sleep(900)
        print("UNAVAILABLE", s.unavailable, s.doing)
        await settle(s, 7200)
        print("UNAVAILABLE", s.unavailable)
        assert s.unavailable < 120

@pytest.mark.parametrize("stopped", [0, 1, 12])
async def test_t7_reverted_while_stopping(stopped):
    with Scenario(agents=True).logged() as s:
        await s.begin()
        s.edit(version=NEW)
        assert await s.until(lambda: list(phases(s).values()).count("stop-coordinated") >= max(1,stopped), 7200)
        if stopped:
            await s.until(lambda: len(s.database.processes) <= 12-stopped, 100)
        print("phases", phases(s), len(s.database.processes), switched(s))
        s.edit(version="7.1.57")
        await asyncio.sleep(900)
        print("PROGRAMS", set(programs(s).values()), s.unavailable, s.doing)
        if NEW in set(programs(s).values()):
            s.edit(version=NEW)
        await settle(s, 7200)
        print("UNAVAILABLE", s.unavailable)

async def test_t5b_shrink_because_a_node_is_lost():
    with Scenario(where="node").logged() as s:
        begun(s)
        s.process.start()
        k=Key(NAMESPACE,"logs-storage-4-0")
        assert await s.until(lambda: "logs-storage-4-0" in s.pods() and s.world.store.get(PODS, k).doc["spec"].get("nodeName"))
        node = s.world.store.get(PODS, k).doc["spec"]["nodeName"]
        await asyncio.sleep(1.5)
        s.world.nodes.lose(node, power=True)
        await asyncio.sleep(900)
        print(s.doing)
        s.edit(pools=pools(storage=4))
        await asyncio.sleep(900)
        print(s.doing)
        s.world.nodes.restore(node)
        await settle(s)

async def test_t5c_renamed_at_capacity():
    with Scenario(capacity=1, pools=pools(storage=5, log=4, stateless=4)).logged() as s:
        begun(s)
        s.process.start()
        await asyncio.sleep(300)
        print(s.doing)
        s.edit(pools=[{**pool("log", 3), "name": "logs"}, pool("storage", 5), pool("stateless", 4)])
        await settle(s)

async def test_t5d_quota_like_removed_pool():
    with Scenario(capacity=1, volumes={"whenScaled":"Delete"}, pools=[*pools(storage=5, log=4, stateless=3), {**pool("storage", 3), "name":"more"}]).logged() as s:
        begun(s)
        s.process.start()
        await asyncio.sleep(300)
        print(s.doing)
        s.edit(pools=[*pools(storage=5, log=4, stateless=3)])
        assert await s.until(lambda: "do not exist" in s.doing), s.doing
        s.world.kubelets.behavior.files = (0.0, 0.1)
        delete(s, "/secrets", FILE)
        for x in list(s.world.store.all(PODS)): delete(s, PODS, x.key)
        await settle(s)
        print("CLAIMS", [c.key.name for c in s.world.store.all(CLAIMS)])

async def test_t6d_bare_removed(): 
    with Scenario().logged() as s:
        await s.begin()
        s.edit(version=NEW)
        assert await s.until(lambda: list(phases(s).values()).count("stop-coordinated") >= 12, 7200)
        print(phases(s), len(s.database.processes))
        s.edit(pools=[{**p, "name": "x"+p["name"]} if p["name"]=="storage" else p for p in pools()])
        await asyncio.sleep(900)
        print("UNAVAILABLE", s.unavailable, s.doing)
        await settle(s, 7200)
        print("UNAVAILABLE", s.unavailable)
        assert s.unavailable < 120

@pytest.mark.parametrize("many", [1, 5, 12])
async def test_t6e_removed_when_scheduled(many):
    with Scenario(agents=True).logged() as s:
        await s.begin()
        s.edit(version=NEW)
        done=[]
        def wrote(*_):
            if not done and list(phases(s).values()).count("schedule-coordinated") >= many:
                done.append(1)
                s.process.kill()
                s.edit(pools=[{**p, "name": "x"+p["name"]} if p["name"]=="storage" else p for p in pools()])
        s.process.write_done = wrote
        assert await s.until(lambda: done, 7200)
        await asyncio.sleep(900)
        print("UNAVAILABLE", s.unavailable, s.doing)
        await settle(s, 7200)
        print("UNAVAILABLE", s.unavailable)
        assert s.unavailable < 120
