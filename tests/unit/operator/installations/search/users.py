"""Users of an installation: they edit it and its objects, have plans run, and do what the conditions advise."""

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from random import Random
from typing import Any

from stateward.kube.client.client import DeleteOptions, Preconditions
from stateward.kube.objects.metadata import Key
from stateward.packages.plans.decision import ANNOTATION_TRIGGER
from stateward.packages.plans.steps import LABEL_PART_OF, set_id
from stateward.simulation.apiserver.store import Stored
from tests.unit.operator.installations.search.packages import FILE, INNER, KINDS, Family, inner_package
from tests.unit.operator.installations.world import HOME, PLURALS, World

__all__ = ["EDITS", "FAULTS", "RIVAL", "User", "owned"]

SKIP, RECORD = "stateward.dev/skip-restart", "stateward.dev/restart-record"
RIVAL = "rival"
"""The name of a second installation of the package."""
EDITED = ("ConfigMap", "Secret", "Service", "Deployment", "StatefulSet")


def owned(world: World) -> dict[tuple[str, str], Stored]:
    """Return the objects of the installation and of the one inside it, by kind and name."""
    sets = {set_id(name, HOME) for name in ("web", f"web-{INNER}")}
    kinds = [(kind, f"{group}/{plural}") for kind, (group, _, plural, _) in PLURALS.items() if kind != "Namespace"]
    found = ((kind, stored) for kind, path in kinds for stored in world.store.all(path))
    return {(k, s.key.name): s for k, s in found if s.meta.get("labels", {}).get(LABEL_PART_OF) in sets}


def delete(world: World, stored: Stored) -> None:
    world.server.delete(stored.kind, stored.key, DeleteOptions(Preconditions(stored.uid)))


class User:
    """The users of one installation, and what they have asked for."""

    def __init__(self, world: World, random: Random, note: Callable[[str], None]) -> None:
        self.world, self.random, self.note = world, random, note
        self.family = Family(random)
        self.packages: dict[str, dict[str, bytes]] = {}
        self.inner = 0
        self.requests = 0
        self.foreign: dict[tuple[str, str], dict[str, Any]] = {}
        self.spec: dict[str, Any] = {}
        self.lost = self.keeps = False
        self.values = self.family.values()
        world.written[FILE] = b"f"
        self.new_inner()
        self.new_package()

    def new_package(self) -> None:
        self.package, files = self.family.next()
        self.packages[self.package] = files
        self.world.package(self.package, files)

    def new_inner(self) -> None:
        self.inner += 1
        self.world.package(f"{INNER}-{self.inner}", inner_package(self.inner))

    def ask(self, **spec: Any) -> None:
        """Write the spec."""
        if not self.leaves:
            self.note(f"the spec is {self.package} with {self.values} {spec or ''}")
            self.world.install(self.package, "web", spec={**self.spec, **spec}, **self.values)

    def request(self, plan: str) -> None:
        """Have a plan run."""
        self.requests += 1
        if self.world.get("Installation", "web"):
            self.note(f"plan {plan} is requested, {self.requests}")
            self.world.annotate(ANNOTATION_TRIGGER, f"{plan}/{self.requests}")

    def edit_values(self) -> None:
        self.values = self.family.values()
        self.ask()

    def upgrade(self) -> None:
        self.new_package()
        if self.random.random() < 0.5:
            self.values = self.family.values()
        self.ask()

    def go_back(self) -> None:
        self.package = self.random.choice(list(self.packages))
        self.ask()

    def request_any(self) -> None:
        self.request(self.random.choice(["backup", "deploy", "update", "cleanup/web", "tune"]))

    def ask_for_unknown(self) -> None:
        self.ask(parameters={**self.values, "NOPE": 1})

    def pause(self) -> None:
        self.ask(paused=True)

    def adopt(self) -> None:
        """Allow from now on that objects without an installation are adopted."""
        self.spec["adopt"] = True
        self.ask()

    def limit_steps(self) -> None:
        self.spec["stepTimeoutSeconds"] = self.random.choice([0, 30])
        self.ask()

    def give_up_claims(self) -> None:
        self.spec["deletionPolicy"] = "Delete"
        self.ask()

    @property
    def leaves(self) -> bool:
        """Whether the installation is being deleted."""
        live = self.world.get("Installation", "web")
        return live is not None and "deletionTimestamp" in live["metadata"]

    def install_rival(self) -> None:
        """Install the same package once more in the namespace: each of the two holds up the other."""
        if self.world.get("Installation", RIVAL) is None:
            self.note("a second installation of the package is made")
            self.world.install(self.package, RIVAL, spec={"deletionPolicy": "Delete"}, **self.values)

    def uninstall_rival(self) -> None:
        if self.world.get("Installation", RIVAL) is not None:
            self.note("the second installation is deleted")
            self.world.uninstall(RIVAL)

    def uninstall(self) -> None:
        if self.world.get("Installation", "web") is not None:
            self.note("the installation is deleted")
            self.keeps |= "deletionPolicy" not in self.spec
            self.world.uninstall()

    def own(self, *kinds: str) -> Iterator[Stored]:
        """Yield objects of the installation that tools or users may edit."""
        pipe = "web-pipe"  # what a task has made is not put right
        yield from (s for (kind, name), s in owned(self.world).items() if kind in kinds and not name.startswith(pipe))

    def edit_object(self) -> None:
        stored = self.choose(self.own(*EDITED))
        if stored is None:
            return
        doc, what = deepcopy(stored.doc), self.random.choice(["data", "label", "size"])
        if what == "data" and "data" in doc:
            doc["data"] = dict.fromkeys(doc["data"], "aGFja2Vk" if doc["kind"] == "Secret" else "hacked")
        elif what == "label":
            doc["metadata"].setdefault("labels", {})["stateward.dev/package"] = "hacked"
        elif "replicas" in doc.get("spec", {}):
            doc["spec"]["replicas"] = 7
        self.write(stored, doc, what)

    def choose(self, those: Iterator[Stored]) -> Stored | None:
        found = list(those)
        return self.random.choice(found) if found else None

    def write(self, stored: Stored, doc: dict[str, Any], what: str) -> None:
        self.note(f"{what} of {stored.kind} {stored.key.name} is edited")
        self.world.server.update(stored.kind, stored.key, doc, manager="another")

    def delete_object(self) -> None:
        stored = self.choose(self.own(*EDITED, "Job", "Pod", "SearchUser"))
        if stored is not None:
            self.note(f"{stored.kind} {stored.key.name} is deleted")
            delete(self.world, stored)

    def skip_restarts(self) -> None:
        stored = self.choose(self.own("ConfigMap", "Secret"))
        if stored is not None:
            self.annotate(stored, SKIP, self.random.choice(["true", "a, b"]))

    def lose_record(self) -> None:
        stored = self.choose(self.own("Deployment", "StatefulSet"))
        if stored is not None:
            self.annotate(stored, RECORD, None)

    def annotate(self, stored: Stored, name: str, value: str | None) -> None:
        doc = deepcopy(stored.doc)
        notes = {k: v for k, v in doc["metadata"].get("annotations", {}).items() if k != name}
        doc["metadata"]["annotations"] = notes | ({} if value is None else {name: value})
        self.write(stored, doc, f"{name} ({value})")

    def create_foreign(self) -> None:
        """Create an object under a name that the package has; it may belong to another installation."""
        name = self.random.choice([n for n, kind in KINDS.items() if kind in {"ConfigMap", "Service"}])
        kind = KINDS[name]
        if self.world.get(kind, name) is not None:
            return
        labels = {"mine": "1"} | ({LABEL_PART_OF: set_id("another", HOME)} if self.random.random() < 0.3 else {})
        content = {"data": {"foreign": "1"}} if kind == "ConfigMap" else {"spec": {}}
        group, _, plural, _ = PLURALS[kind]
        body = {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "labels": labels}, **content}
        self.world.server.create(f"{group}/{plural}", HOME, body, "another")
        self.foreign[kind, name] = deepcopy(self.world.there(kind, name))
        self.note(f"{kind} {name} of others is created")

    def check_foreign(self) -> None:
        """Check that no object of others was touched, unless it may be adopted."""
        for (kind, name), made in self.foreign.items():
            if "adopt" not in self.spec or LABEL_PART_OF in made["metadata"]["labels"]:
                assert self.world.get(kind, name) == made, f"{kind} {name} of others was touched"

    def delete_foreign(self) -> None:
        for kind, name in list(self.foreign):
            group, _, plural, _ = PLURALS[kind]
            stored = self.world.store.get(f"{group}/{plural}", Key(HOME, name))
            if stored is not None:
                self.note(f"{kind} {name} of others is deleted")
                delete(self.world, stored)
            del self.foreign[kind, name]

    def take_package_away(self) -> None:
        name = self.package
        stored = self.world.store.get("stateward.dev/swpackages", Key(HOME, name))
        if stored is not None:
            self.note(f"package {name} is away for a while")
            delete(self.world, stored)
            delay = self.random.choice([1, 30, 300])
            self.world.context.later(delay, self.world.package, name, self.packages[name])

    def lose_key(self) -> None:
        stored = self.world.store.get("/secrets", Key("stateward", "stateward-digest-key"))
        if stored is not None:
            self.lost = True
            self.note("the key of digests is lost")
            delete(self.world, stored)

    def fail_jobs(self) -> None:
        failed = {"conditions": [{"type": "Failed", "status": "True", "message": "no"}]}
        for stored in self.own("Job"):
            if not stored.terminating:
                self.world.context.change(stored, ("status",), failed)

    def make_sick(self) -> None:
        self.world.healthy = False

    def heal(self) -> None:
        """Let all become healthy."""
        self.world.roll_out()
        for stored in self.world.store.all("/pods"):
            self.world._started(stored)

    def correct(self) -> None:
        """Take back what holds up the installation on purpose."""
        for stored in list(self.own("ConfigMap", "Secret")):
            if SKIP in stored.meta.get("annotations", {}):
                self.annotate(stored, SKIP, None)
        self.delete_foreign()
        self.uninstall_rival()
        self.heal()

    def follow(self) -> None:
        """Do what the condition Stalled advises, and install again what was deleted."""
        if self.world.get("Installation", "web") is None:
            self.ask()
            return
        stalled = self.world.condition("Stalled")
        reason = stalled.get("reason") if stalled.get("status") == "True" else ""
        if reason == "PlanFailed" and self.world.status()["run"]["stage"] == "Failed":
            plan = self.world.status()["run"]["plan"]
            self.request("cleanup/web" if plan == "cleanup" else plan)
        elif reason == "ParametersDisagree":
            self.take_back_values()
        elif reason == "PlanUnknown":
            self.request("backup")

    def take_back_values(self) -> None:
        """Ask for the values that the installation has; if that does not help, also for its package."""
        installed = self.world.status()["installed"]
        kept = {k: v for k, v in installed.get("parameters", {}).items() if k != self.family.immutable}
        if kept == self.values:
            self.package = installed["package"]
        self.values = kept
        self.ask()


EDITS: Mapping[str, Callable[[User], None]] = {
    "values": User.edit_values,
    "upgrade": User.upgrade,
    "back": User.go_back,
    "request": User.request_any,
    "unknown parameter": User.ask_for_unknown,
    "pause": User.pause,
    "adopt": User.adopt,
    "time limit": User.limit_steps,
    "claims go": User.give_up_claims,
    "deletion": User.uninstall,
    "second installation": User.install_rival,
    "second installation deleted": User.uninstall_rival,
    "newer inner package": User.new_inner,
    "skip": User.skip_restarts,
}
FAULTS: Mapping[str, Callable[[User], None]] = {
    "object edited": User.edit_object,
    "object deleted": User.delete_object,
    "object of others": User.create_foreign,
    "object of others deleted": User.delete_foreign,
    "sick": User.make_sick,
    "healthy": User.heal,
    "Jobs fail": User.fail_jobs,
    "package away": User.take_package_away,
    "record lost": User.lose_record,
    "key lost": User.lose_key,
}
