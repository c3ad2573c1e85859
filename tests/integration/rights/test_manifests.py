"""The manifests on a real API server: accepted as they are, with rights exactly as wide as the operator needs."""

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from sandbox.kubernetes.kubeapi import KubeApi
from sandbox.progress import Progress
from sandbox.toolchain.kubelite import build_kubelite

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[3]
OPERATOR = "system:serviceaccount:stateward-system:stateward"
READ = ("get", "list", "watch")
WRITE = ("create", "patch", "delete")

ALLOWED = {
    "stateward.dev/osclusters": (*READ, "patch"),
    "stateward.dev/osclusters/status": ("patch",),
    "stateward.dev/esclusters": (*READ, "patch"),
    "stateward.dev/esclusters/status": ("patch",),
    "stateward.dev/fdbclusters": (*READ, "patch"),
    "stateward.dev/fdbclusters/status": ("patch",),
    "stateward.dev/searchobjects": (*READ, "patch"),
    "stateward.dev/searchobjects/status": ("patch",),
    "stateward.dev/searchusers": (*READ, "patch"),
    "stateward.dev/searchusers/status": ("patch",),
    "stateward.dev/searchsnapshots": (*READ, "patch"),
    "stateward.dev/searchsnapshots/status": ("patch",),
    "stateward.dev/searchsnapshotschedules": READ,
    "stateward.dev/searchsnapshotschedules/status": ("patch",),
    "stateward.dev/searchrestores": (*READ, "create", "patch"),
    "stateward.dev/searchrestores/status": ("patch",),
    "stateward.dev/poolscales": ("list", "watch"),
    "stateward.dev/poolscales/status": ("patch",),
    "stateward.dev/swinstallations": (*READ, "patch"),
    "stateward.dev/swinstallations/status": ("patch",),
    "stateward.dev/swpackages": READ,
    "stateward.dev/swclusterpackages": READ,
    "batch/jobs": ("list", "watch"),
    "apps/statefulsets": (*READ, *WRITE),
    "apps/deployments": (*READ, *WRITE),
    "apps/daemonsets": (*READ, "patch"),
    "/pods": ("list", "watch", "patch", "delete"),
    "/persistentvolumeclaims": (*READ, *WRITE),
    "/secrets": (*READ, *WRITE),
    "/configmaps": (*READ, *WRITE),
    "/services": (*READ, *WRITE),
    "policy/poddisruptionbudgets": (*READ, *WRITE),
    "/serviceaccounts": ("impersonate", *READ),
    "networking.k8s.io/ingresses": ("list", "watch"),
    "networking.k8s.io/networkpolicies": (*READ, *WRITE),
    "autoscaling/horizontalpodautoscalers": ("list", "watch"),
    "/nodes": ("list", "watch"),
    "storage.k8s.io/storageclasses": ("list", "watch"),
    "events.k8s.io/events": ("create", "patch"),
}
REFUSED = {
    "stateward.dev/osclusters": ("create", "delete"),
    "stateward.dev/esclusters": ("create", "delete"),
    "stateward.dev/fdbclusters": ("create", "delete"),
    "stateward.dev/searchobjects": ("create", "delete"),
    "stateward.dev/searchusers": ("create", "delete"),
    "stateward.dev/searchsnapshots": ("create", "delete"),
    "stateward.dev/searchsnapshotschedules": ("create", "patch", "delete"),
    "stateward.dev/searchrestores": ("delete",),
    "stateward.dev/poolscales": WRITE,
    "stateward.dev/poolscales/scale": ("get", "update", "patch"),
    "stateward.dev/swinstallations": ("create", "delete"),
    "stateward.dev/swpackages": ("create", "patch", "delete"),
    "batch/jobs": ("create", "delete"),
    "/pods": ("create",),
    "/pods/exec": ("create",),
    "/pods/eviction": ("create",),
    "/nodes": ("patch", "update", "delete"),
    "/namespaces": ("create", "delete", "patch"),
    "apps/daemonsets": ("create", "delete"),
    "coordination.k8s.io/leases": ("create", "get", "patch"),
    "rbac.authorization.k8s.io/clusterroles": ("create", "bind", "escalate"),
    "/serviceaccounts": WRITE,
    "/serviceaccounts/token": ("create",),
    "/users": ("impersonate",),
    "/groups": ("impersonate",),
    "authentication.k8s.io/uids": ("impersonate",),
    "authentication.k8s.io/userextras/scopes": ("impersonate",),
    "networking.k8s.io/ingresses": ("get", "create", "patch", "delete"),
    "gateway.networking.k8s.io/httproutes": ("get", "list", "create", "patch", "delete"),
    "rbac.authorization.k8s.io/rolebindings": ("get", "list", "create", "patch", "delete"),
    "admissionregistration.k8s.io/mutatingwebhookconfigurations": ("get", "list", "create", "patch", "delete"),
}


@pytest.fixture(scope="module")
def api(control_plane: Path) -> Iterator[KubeApi]:
    kubectl = build_kubelite(Progress()) / "kubectl"
    environment = {**os.environ, "KUBECONFIG": str(control_plane)}

    def run(*words: str) -> None:
        done = subprocess.run(
            [kubectl, *words], env=environment, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr

    run("apply", "--server-side", "--force-conflicts", "-k", str(ROOT / "charts/stateward"))
    yield KubeApi(control_plane)
    run("delete", "deployment/stateward", "-n", "stateward-system")


def allowed(api: KubeApi, verb: str, what: str, *, user: str = OPERATOR, namespace: str = "default") -> bool:
    group, _, rest = what.partition("/")
    resource, _, subresource = rest.partition("/")
    asked = {"namespace": namespace, "verb": verb, "group": group, "resource": resource, "subresource": subresource}
    spec = {"user": user, "groups": ["system:authenticated"], "resourceAttributes": asked}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
    answer = api.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
    return bool(answer["status"]["allowed"])


@pytest.mark.parametrize("what", ALLOWED)
def test_the_operator_may_do_what_it_does(api: KubeApi, what: str) -> None:
    assert [verb for verb in ALLOWED[what] if not allowed(api, verb, what)] == []


@pytest.mark.parametrize("what", REFUSED)
def test_the_operator_may_do_nothing_else(api: KubeApi, what: str) -> None:
    assert [verb for verb in REFUSED[what] if allowed(api, verb, what)] == []


def test_what_packages_need_is_bound_to_no_account_by_itself(api: KubeApi) -> None:
    packages = "/apis/rbac.authorization.k8s.io/v1"
    found = api.items(f"{packages}/clusterrolebindings") + api.items(
        f"{packages}/namespaces/stateward-system/rolebindings"
    )
    assert [each["metadata"]["name"] for each in found if each["roleRef"]["name"] == "stateward-packages"] == []


def test_leases_are_for_its_own_namespace(api: KubeApi) -> None:
    for verb in ("get", "create", "patch"):
        assert allowed(api, verb, "coordination.k8s.io/leases", namespace="stateward-system")


def test_cron_jobs_are_for_its_own_namespace(api: KubeApi) -> None:
    for verb in ("list", *WRITE):
        assert allowed(api, verb, "batch/cronjobs", namespace="stateward-system")
    assert [verb for verb in WRITE if allowed(api, verb, "batch/cronjobs")] == []


def test_the_operator_runs_under_the_restricted_standard(api: KubeApi) -> None:
    namespace = api.get("/api/v1/namespaces/stateward-system")
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    template = api.get("/apis/apps/v1/namespaces/stateward-system/deployments/stateward")["spec"]["template"]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe"}, "spec": template["spec"]}
    assert api.post("/api/v1/namespaces/stateward-system/pods?dryRun=All", pod)["metadata"]["name"] == "probe"


@pytest.mark.parametrize(("role", "verbs"), [("view", READ), ("edit", (*READ, *WRITE)), ("admin", (*READ, *WRITE))])
def test_a_user_who_may_edit_a_namespace_may_edit_its_clusters(api: KubeApi, role: str, verbs: tuple[str, ...]) -> None:
    user = f"somebody-with-{role}"
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": user},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
    }
    path = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings"
    api.apply(f"{path}/{user}", binding)
    clusters = "stateward.dev/osclusters"
    deadline = time.monotonic() + 30
    while not all(allowed(api, verb, clusters, user=user) for verb in verbs):
        assert time.monotonic() < deadline, "the role was not aggregated"
        time.sleep(0.2)
    assert allowed(api, "create", clusters, user=user) == (role != "view")
    assert not allowed(api, "patch", f"{clusters}/status", user=user)
    api.delete(f"{path}/{user}")


def test_every_file_is_in_the_kustomization() -> None:
    listed = yaml.safe_load((ROOT / "charts/stateward/kustomization.yaml").read_text())["resources"]
    folder = ROOT / "charts/stateward"
    found = [str(p.relative_to(folder)) for part in ("files/crds", "manifests") for p in (folder / part).glob("*.yaml")]
    assert sorted(listed) == sorted(found)
