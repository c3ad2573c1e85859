"""A world with a secured cluster and users, and what an application finds in its Secret."""

import base64
from typing import Any

from stateward.kube.client.client import DeleteOptions, Preconditions
from stateward.kube.objects.metadata import Key
from stateward.simulation.opensearch.stored_objects import USERS
from tests.unit.operator.declared.world import HOME, World

OWN = {"stateward.dev/cluster": "logs", "stateward.dev/engine": "opensearch"}
"""The labels of Secrets that the operator has made for the cluster."""
KIND = "stateward.dev/searchusers"


class UsersWorld(World):
    """One secured cluster, its users, and their Secrets."""

    def __init__(self, seed: int = 1) -> None:
        super().__init__(seed)
        self.secured = True
        self.secret("logs-ca", OWN, **{"ca.crt": "PEM"})

    def user(self, name: str = "shop", /, **spec: Any) -> None:
        """Create a user, or change the one of this name."""
        wanted = {"cluster": {"kind": "OpenSearchCluster", "name": "logs"}, "roles": ["reader"], **spec}
        live = self.store.get(KIND, Key(HOME, name))
        if live is not None:
            self.server.update(KIND, live.key, {**live.doc, "spec": {**live.doc["spec"], **wanted}})
            return
        body = {"apiVersion": "stateward.dev/v1alpha1", "kind": "SearchUser", "metadata": {"name": name}}
        self.server.create(KIND, HOME, {**body, "spec": wanted})

    def remove_user(self, name: str = "shop") -> None:
        live = self.store.get(KIND, Key(HOME, name))
        assert live is not None
        self.server.delete(KIND, live.key, DeleteOptions(Preconditions(live.meta["uid"])))

    def user_exists(self, name: str = "shop") -> bool:
        return self.store.get(KIND, Key(HOME, name)) is not None

    def user_status(self, name: str = "shop") -> dict[str, Any]:
        live = self.store.get(KIND, Key(HOME, name))
        assert live is not None
        return live.doc.get("status", {})

    def user_condition(self, kind: str, name: str = "shop") -> dict[str, Any]:
        return next((c for c in self.user_status(name).get("conditions", []) if c["type"] == kind), {})

    def user_ready(self, name: str = "shop") -> bool:
        live = self.store.get(KIND, Key(HOME, name))
        assert live is not None
        seen = live.doc.get("status", {}).get("observedGeneration") == live.meta["generation"]
        return seen and self.user_condition("Ready", name).get("status") == "True"

    def user_stalled(self, name: str = "shop") -> str:
        found = self.user_condition("Stalled", name)
        return found["reason"] if found.get("status") == "True" else ""

    def forget_user_write(self) -> None:
        """Let the status be as it was before the first write was recorded."""
        (live,) = self.store.all(KIND)
        users = [{**each, "claim": "Creating", "applied": ""} for each in live.doc["status"]["users"]]
        self.context.change(live, ("status", "users"), users)

    def connection(self, name: str = "shop-connection") -> dict[str, str]:
        """Return what the application finds; empty without the Secret."""
        found = self.store.get("/secrets", Key(HOME, name))
        data: dict[str, str] = found.doc["data"] if found is not None else {}
        return {key: base64.b64decode(value).decode() for key, value in data.items()}

    @property
    def passwords(self) -> dict[str, str]:
        """The passwords in the database by user."""
        return {path.removeprefix(USERS): password for path, password in self.database.objects.passwords.items()}

    def application_connects(self) -> bool:
        """Whether the application's Secret names a user with this password in the database."""
        found = self.connection()
        return bool(found.get("password")) and self.passwords.get(found["username"]) == found["password"]

    def everything_said(self) -> str:
        """Return all that people may read without the right to read Secrets: users and events."""
        return str([stored.doc for stored in self.store.everything() if stored.kind != "/secrets"])
