"""The first hour with packages, typed as the documents have it, with the operator as it is shipped at work."""

import json
import re
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from stateward.kube.objects.resources import CONFIG_MAPS
from stateward.operator.installations.objects.views import INSTALLATIONS, PACKAGES
from stateward.packages.restarts.restarts import ANNOTATION_BECAUSE
from tests.integration.api_server import JOBS, ROOT, define, finish_jobs, own_namespace, run_pods
from tests.integration.packaged import DEPLOYMENTS, Place
from tests.integration.packages.newcomer import Newcomer
from tests.support.background import at_work

pytestmark = pytest.mark.integration


@pytest.fixture
async def place(control_plane: Path) -> AsyncGenerator[Place]:
    async with own_namespace(control_plane, "walk") as (api, namespace):
        await define(api, PACKAGES, INSTALLATIONS)
        async with at_work(run_pods(api, namespace), finish_jobs(api, namespace)):
            place = Place(api, namespace)
            await place.allow()
            yield place


@pytest.fixture
def newcomer(place: Place, control_plane: Path, tmp_path: Path) -> Newcomer:
    return Newcomer(tmp_path, control_plane, place.namespace)


def documented() -> list[str]:
    """Return the commands of the documents' first walk, in their order."""
    page = (ROOT / "docs/packages.md").read_text().partition("\n## An example")[0]
    blocks: list[str] = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    return [line.split("#")[0].strip() for block in blocks for line in block.splitlines() if line.strip()]


def template(body: dict[str, Any]) -> dict[str, Any]:
    return body["spec"]["template"]


async def test_a_package_is_begun_checked_and_read_before_any_server_knows_of_it(newcomer: Newcomer) -> None:
    assert "a package to start from; see its objects with `stateward package render" in await newcomer.types(
        "stateward package new shop"
    )
    said = await newcomer.types("stateward package verify shop")
    assert re.fullmatch(
        r"shop: shop 0\.1\.0 \(application 1\.0\): 3 parameters, plans deploy, backup, sha256:[0-9a-f]{64}\n", said
    )
    said = await newcomer.types("stateward package render shop")
    assert "# templates/config.yaml" in said
    assert "greeting: hello" in said
    schema = json.loads(await newcomer.types("stateward package schema shop"))
    assert schema["properties"]["replicas"]["default"] == 1
    said = await newcomer.types("stateward package diff shop -p replicas=3")
    assert said == "~ Deployment default/shop: spec.replicas\nno pod restarts\n"
    said = await newcomer.types("stateward package diff shop -p greeting=goodbye")
    assert said.endswith(
        "pods of Deployment default/shop restart: it uses ConfigMap/shop, whose key greeting changes\n"
    )
    assert (await newcomer.types("stateward package build shop")).startswith("shop-0.1.0.tgz: shop 0.1.0")
    first = (newcomer.folder / "shop-0.1.0.tgz").read_bytes()
    await newcomer.types("stateward package build shop")
    assert (newcomer.folder / "shop-0.1.0.tgz").read_bytes() == first


async def test_what_is_documented_is_what_happens_from_install_to_uninstall(newcomer: Newcomer, place: Place) -> None:
    """The documented commands in order, and the user's file edits between them."""
    commands = [line for line in documented() if "registry.example" not in line]
    assert [line.split()[2] for line in commands if line.startswith("stateward")] == [
        *("new", "verify", "render", "schema", "diff", "build"),
        *("install", "upgrade", "build", "upgrade", "uninstall"),
    ]
    said: dict[str, str] = {}
    async with newcomer.operator():
        for line in commands:
            if line == "stateward package build shop" and line in said:
                edit(newcomer.folder / "shop/operator.yaml", 'operatorVersion: "0.1.0"', 'operatorVersion: "0.2.0"')
            before = await place.get(DEPLOYMENTS, "shop")
            said[line] = await newcomer.types(line.replace("=prod:", f"={place.namespace}:"))
            if "package install" in line or "package upgrade" in line:
                await place.ready("shop")
            if "package upgrade" in line:
                assert before is not None
                assert template(await place.there(DEPLOYMENTS, "shop")) == template(before)
            if "trigger" in line:
                await place.until(INSTALLATIONS, "shop", _ended("backup"))
        await place.until(INSTALLATIONS, "shop", lambda body: body is None)
    assert "shop: shop 0.1.0 is being installed\n" in said.values()
    assert said["kubectl stateward installation status shop"].startswith("shop: shop-0.2.0, installed 0.2.0: ready\n")
    history = said["kubectl stateward installation history shop"].splitlines()
    assert [line.split()[1:4] for line in history] == [
        ["backup", "0.2.0", "Done,"],
        ["deploy", "0.2.0", "Done,"],
        ["deploy", "0.1.0", "Done,"],
        ["deploy", "0.1.0", "Done,"],
    ]
    assert "plan backup of 0.2.0: Done" in said["kubectl stateward installation plan shop"]
    for kind in (DEPLOYMENTS, CONFIG_MAPS, JOBS):
        assert await place.get(kind, "shop") is None
        assert await place.get(kind, "shop-backup") is None
    # Versions stay, for other installations and for the next one.
    assert await place.get(PACKAGES, "shop-0.1.0")
    assert await place.get(PACKAGES, "shop-0.2.0")


async def test_a_change_is_read_before_it_is_made_and_then_it_is_that(newcomer: Newcomer, place: Place) -> None:
    await newcomer.types("stateward package new shop")
    async with newcomer.operator():
        await newcomer.types("stateward package install shop")
        await place.ready("shop")
        before = await place.there(DEPLOYMENTS, "shop")
        (newcomer.folder / "shop.yaml").write_text(written())
        said = await newcomer.types("kubectl stateward plan -f shop.yaml", code=2)
        assert said == shown().replace("namespace prod", f"namespace {place.namespace}")
        assert await place.there(DEPLOYMENTS, "shop") == before
        await newcomer.types("kubectl apply --server-side --force-conflicts -f shop.yaml")
        await place.ready("shop")
        live = await place.there(DEPLOYMENTS, "shop")
        assert template(live) != template(before)
        assert live["metadata"]["annotations"][ANNOTATION_BECAUSE] == "ConfigMap/shop:greeting"


async def test_what_cannot_be_is_refused_in_words_and_changes_nothing(newcomer: Newcomer, place: Place) -> None:
    await newcomer.types("stateward package new shop")
    async with newcomer.operator():
        said = await newcomer.types("stateward package install shop -p replicas=many", code=1)
        assert "replicas: 'many': must be a whole number" in said
        assert await place.get(INSTALLATIONS, "shop") is None
        assert await place.get(PACKAGES, "shop-0.1.0") is None
        said = await newcomer.types("kubectl stateward installation status shop", code=1)
        assert f"there is no installation 'shop' in namespace '{place.namespace}'" in said
        await newcomer.types("stateward package install shop")
        before = await place.ready("shop")
        said = await newcomer.types("stateward package upgrade shop -p replica=2", code=1)
        assert "replica: '2': is not a parameter of shop 0.1.0; did you mean replicas?" in said
        said = await newcomer.types("kubectl stateward installation trigger shop restore", code=1)
        assert "'restore': shop has the plans deploy, backup" in said
        edit(newcomer.folder / "shop/params.yaml", "default: hello", "default: good day")
        said = await newcomer.types("stateward package upgrade shop shop", code=1)
        assert "shop-0.1.0 already exists with other content: a changed package needs another version" in said
        assert (await place.there(INSTALLATIONS, "shop"))["spec"] == before["spec"]
        wrong = written().replace("greeting: good day", "replicas: many")
        (newcomer.folder / "wrong.yaml").write_text(wrong)
        said = await newcomer.types("kubectl stateward plan -f wrong.yaml", code=1)
        assert "refused: replicas: 'many': must be a whole number" in said
        await newcomer.types("kubectl apply --server-side --force-conflicts -f wrong.yaml")
        stalled = await place.until(
            INSTALLATIONS, "shop", lambda body: body and "a whole number" in str(body.get("status"))
        )
        said = await newcomer.types("kubectl stateward installation status shop")
        assert "shop: shop-0.1.0, installed 0.1.0: needs manual intervention" in said
        assert "ParametersInvalid: replicas: must be a whole number" in said
        assert "many" not in str(stalled["status"]), "a status repeats no value"
        assert stalled["status"]["installed"] == before["status"]["installed"]
        assert (await place.there(DEPLOYMENTS, "shop"))["spec"]["replicas"] == 1


def _ended(plan: str) -> Any:
    def holds(body: dict[str, Any] | None) -> bool:
        history = (body or {}).get("status", {}).get("history") or [{}]
        return history[0].get("plan") == plan

    return holds


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def written() -> str:
    """Return the installation that the documents write down."""
    page = (ROOT / "docs/packages.md").read_text()
    return re.findall(r"```yaml\n(apiVersion: stateward.*?)```", page, re.DOTALL)[0]


def shown() -> str:
    """Return the documented output of a command."""
    page = (ROOT / "docs/packages.md").read_text()
    return re.findall(r"```console\n\$ kubectl stateward plan -f shop.yaml\n(.*?)```", page, re.DOTALL)[0]
