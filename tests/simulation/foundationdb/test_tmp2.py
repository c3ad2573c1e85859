import asyncio, base64
import pytest
from tests.simulation.foundationdb.test_tmp import *

async def test_d():
    with Scenario(volumes={"whenDeleted": "Delete"}).logged() as s:
        s.world.context.trace_lines=[]
        await s.begin()
        s._watching.cancel()
        t=s.world.now
        n=len(s.world.context.trace_lines)
        delete(s, KIND, Key(NAMESPACE, NAME))
        await asyncio.sleep(0.5)
        begun(s)
        for i in range(80):
            await asyncio.sleep(1)
            f = s.world.store.get("/secrets", FILE)
            sets={x.key.name:x.uid for x in s.world.store.all(SETS)}
            pods=[(x.key.name, x.terminating, x.meta["creationTimestamp"][14:19]) for x in s.world.store.all(PODS) if "storage-0" in x.key.name]
            print(i, f and (base64.b64decode(f.doc["data"]["fdb.cluster"])[:30], f.meta.get("ownerReferences",[{}])[0].get("uid","")[-4:], f.terminating), len(sets), pods, [ (k.name, v.file[:25], v.alive) for k,v in s.world.foundationdb.pods.items() if "storage-0" in k.name], s.doing[:80])
async def test_e():
    with Scenario(volumes={"whenDeleted": "Delete"}).logged() as s:
        await s.begin()
        s._watching.cancel()
        delete(s, KIND, Key(NAMESPACE, NAME))
        await asyncio.sleep(0.5)
        begun(s)
        await asyncio.sleep(60)
        for k, v in s.world.foundationdb.pods.items(): print("P", k.name, v.file[:25], v.alive, v._database is s.world.foundationdb.databases["data_logs_198faa28"])
        for n, d in s.world.foundationdb.databases.items(): print("P", n, list(d.processes), d.cluster and d.cluster.state.coordinators, d.cluster and d.cluster.state.recovery.name, len(d.astray))
