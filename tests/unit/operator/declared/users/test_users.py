"""Users: made with a password that only applications see, rotated with an overlap, and gone with their resource."""

import asyncio

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from stateward.api.kinds.search import SearchCluster
from stateward.api.kinds.security import HttpSecurity, Security
from stateward.kube.objects.metadata import Key
from stateward.simulation.apiserver.network import Network
from stateward.simulation.opensearch.http import Rates
from stateward.simulation.opensearch.stored_objects import USERS, StoredObject
from tests.unit.operator.declared.test_properties import played
from tests.unit.operator.declared.users_world import UsersWorld
from tests.unit.operator.declared.world import HOME

HOUR = 3600.0
ROTATED = {"rotateAfter": "10h", "overlap": "2h"}


async def test_a_user_is_made_and_its_application_can_connect() -> None:
    world = UsersWorld()
    world.user(backendRoles=["shops"], attributes={"team": "web"})
    async with world.operator():
        await world.until(world.user_ready)
    found = world.connection()
    assert world.application_connects()
    assert (found["host"], found["port"], found["username"], found["ca.crt"]) == (
        "logs.prod.svc",
        "9200",
        "shop",
        "PEM",
    )
    assert found["uri"] == f"https://shop:{found['password']}@logs.prod.svc:9200"
    body = world.database.objects.by_path[f"{USERS}shop"].body
    assert (body["opendistro_security_roles"], body["backend_roles"]) == (["reader"], ["shops"])
    assert body["attributes"] == {"team": "web"}
    assert found["password"] not in world.everything_said()


async def test_nothing_is_written_again_while_nothing_changes() -> None:
    world = UsersWorld()
    world.user()
    async with world.operator():
        await world.until(world.user_ready)
        before = (world.connection(), world.user_status())
        await asyncio.sleep(HOUR)
    async with world.operator():
        await asyncio.sleep(HOUR)
    assert (world.connection(), world.user_status()) == before
    assert len(world.database.writes) == 1


async def test_the_password_of_a_secret_is_used_and_its_change_is_followed() -> None:
    world = UsersWorld()
    world.secret("given", {"stateward.dev/allowed-for-pods": "logs"}, password="geheim-77")
    world.user(password={"secretName": "given"})
    async with world.operator():
        await world.until(world.user_ready)
        assert world.passwords == {"shop": "geheim-77"}
        world.change_secret("given", password="geheim-78")
        await world.until(lambda: world.passwords == {"shop": "geheim-78"} and world.application_connects())
    assert "geheim" not in world.everything_said()


async def test_a_secret_that_is_not_allowed_gives_no_password() -> None:
    world = UsersWorld()
    world.secret("given", {}, password="geheim-77")
    world.user(password={"secretName": "given"})
    async with world.operator():
        await world.until(lambda: world.user_stalled() == "SecretNotAllowed")
    assert world.passwords == {}


async def test_a_rotation_keeps_the_previous_user_for_the_overlap() -> None:
    world = UsersWorld()
    world.user(password=ROTATED)
    async with world.operator():
        await world.until(world.user_ready)
        first = world.connection()
        assert first["username"] == "shop-1"
        await asyncio.sleep(10 * HOUR + 900)
        second = world.connection()
        assert second["username"] == "shop-2"
        assert second["password"] != first["password"]
        assert world.passwords == {"shop-1": first["password"], "shop-2": second["password"]}
        await asyncio.sleep(2 * HOUR + 900)
        assert world.passwords == {"shop-2": second["password"]}
        await asyncio.sleep(8 * HOUR)
        assert world.connection()["username"] == "shop-1"
        assert world.connection()["password"] != first["password"]
        assert world.application_connects()


async def test_an_overlap_that_is_shortened_while_it_lasts_ends_that_long_after_the_edit() -> None:
    world = UsersWorld()
    world.user(password=ROTATED)
    async with world.operator():
        await world.until(world.user_ready)
        await asyncio.sleep(10 * HOUR + 900)
        assert world.passwords.keys() == {"shop-1", "shop-2"}
        world.user(password={**ROTATED, "overlap": "30m"})
        await asyncio.sleep(1740)
        assert world.passwords.keys() == {"shop-1", "shop-2"}
        await asyncio.sleep(120)
        assert world.passwords.keys() == {"shop-2"}


async def test_a_rotation_that_an_operator_did_not_record_does_not_go_back() -> None:
    """The disaster this prevents: the previous user gets another password while applications still log in with it."""
    world = UsersWorld()
    world.user(password=ROTATED)
    network = Network(world.context.stream("dying"), world.context.count)

    def dies(*_: object) -> None:
        network.dead = network.dead or world.connection().get("username") == "shop-2"

    network.write_done = dies
    async with world.operator(network=network):
        await world.until(world.user_ready)
        first = world.connection()
        await asyncio.sleep(10 * HOUR + 900)
    assert network.dead
    second = world.connection()
    world.user(password={"rotateAfter": "90d", "overlap": "2h"})
    async with world.operator():
        await world.until(world.user_ready)
        await asyncio.sleep(HOUR)
        assert world.passwords == {"shop-1": first["password"], "shop-2": second["password"]}
        assert world.connection() == second
        await asyncio.sleep(2 * HOUR)
        assert world.passwords == {"shop-2": second["password"]}


async def test_a_rotation_of_a_user_that_is_to_stay_deletes_the_previous_one_all_the_same() -> None:
    world = UsersWorld()
    world.user(password=ROTATED, deletionPolicy="Retain")
    async with world.operator():
        await world.until(world.user_ready)
        for number in (2, 1, 2):
            await asyncio.sleep(12 * HOUR + 1800)
            assert set(world.passwords) == {f"shop-{number}"}
            assert world.application_connects()
        world.remove_user()
        await world.until(lambda: not world.user_exists())
    assert set(world.passwords) == {"shop-2"}


async def test_a_user_that_applications_may_still_use_is_not_taken_again() -> None:
    world = UsersWorld()
    world.user()
    async with world.operator():
        await world.until(world.user_ready)
        first = world.connection()
        world.user(password=ROTATED)
        await world.until(lambda: world.connection()["username"] == "shop-1")
        world.user(password={"overlap": "2h"})
        await asyncio.sleep(HOUR)
        assert world.passwords["shop"] == first["password"]
        assert world.application_connects()
        await asyncio.sleep(4 * HOUR)
        assert set(world.passwords) == {"shop"}
        assert world.application_connects()


async def test_a_user_begins_to_rotate_and_ends_it() -> None:
    world = UsersWorld()
    world.user()
    async with world.operator():
        await world.until(world.user_ready)
        world.user(password=ROTATED)
        await world.until(lambda: world.connection()["username"] == "shop-1" and world.user_ready())
        assert set(world.passwords) == {"shop", "shop-1"}
        await asyncio.sleep(2 * HOUR + 900)
        assert set(world.passwords) == {"shop-1"}
        world.user(password={})
        await world.until(lambda: world.connection()["username"] == "shop" and world.application_connects())


async def test_a_lost_secret_is_written_again_with_another_password() -> None:
    world = UsersWorld()
    world.user()
    async with world.operator():
        await world.until(world.user_ready)
        before = world.connection()
        world.drop_secret("shop-connection")
        await world.until(world.application_connects)
    assert world.connection()["password"] != before["password"]


async def test_a_secret_of_another_owner_is_not_overwritten() -> None:
    world = UsersWorld()
    world.secret("shop-connection", {}, mine="1")
    world.user()
    async with world.operator():
        await world.until(lambda: world.user_stalled() == "SecretTaken")
        assert world.connection() == {"mine": "1"}
        world.user(connectionSecretName="other")
        await world.until(world.user_ready)
    assert world.connection("other")["username"] == "shop"


async def test_a_secret_of_another_user_is_not_overwritten() -> None:
    world = UsersWorld()
    world.user()
    async with world.operator():
        await world.until(world.user_ready)
        before = world.connection()
        world.user("other", connectionSecretName="shop-connection")
        await world.until(lambda: world.user_stalled("other") == "SecretTaken")
    assert world.connection() == before


async def test_a_user_stays_if_that_is_asked_for() -> None:
    world = UsersWorld()
    world.user(deletionPolicy="Retain")
    async with world.operator():
        await world.until(world.user_ready)
        world.remove_user()
        await world.until(lambda: not world.user_exists())
    assert set(world.passwords) == {"shop"}


async def test_a_right_that_another_client_gives_to_a_user_is_taken_back() -> None:
    world = UsersWorld()
    world.user()
    async with world.operator():
        await world.until(world.user_ready)
        body = world.database.objects.by_path[f"{USERS}shop"].body
        body["opendistro_security_roles"] = ["reader", "all_access"]
        await world.until(lambda: body is not world.database.objects.by_path[f"{USERS}shop"].body)
    assert world.database.objects.by_path[f"{USERS}shop"].body["opendistro_security_roles"] == ["reader"]


async def test_a_user_that_was_there_before_is_not_touched() -> None:
    world = UsersWorld()
    theirs = {"opendistro_security_roles": ["all_access"], "backend_roles": ["admin"], "attributes": {}}
    world.database.objects.by_path[f"{USERS}shop"] = StoredObject(dict(theirs), 1)
    world.user()
    async with world.operator():
        await world.until(lambda: world.user_stalled() == "Exists")
        world.remove_user()
        await world.until(lambda: not world.user_exists())
    assert world.database.objects.by_path[f"{USERS}shop"].body == theirs


async def test_users_are_gone_with_their_resource_also_the_previous_one() -> None:
    world = UsersWorld()
    world.user(password=ROTATED)
    async with world.operator():
        await world.until(world.user_ready)
        await asyncio.sleep(10 * HOUR + 900)
        assert set(world.passwords) == {"shop-1", "shop-2"}
        world.remove_user()
        await world.until(lambda: not world.user_exists())
    assert world.passwords == {}


async def test_a_second_resource_for_the_same_user_is_refused() -> None:
    world = UsersWorld()
    world.user()
    async with world.operator():
        await world.until(world.user_ready)
        world.user("other", username="shop")
        await world.until(lambda: world.user_stalled("other") == "Conflict")


async def test_a_cluster_without_security_has_no_users() -> None:
    world = UsersWorld()
    world.secured = False
    world.user()
    async with world.operator():
        await world.until(lambda: world.user_stalled() == "NotSecured")


@pytest.mark.parametrize(
    "password",
    [
        {"secretName": "given", "rotateAfter": "90d"},
        {"rotateAfter": "30m", "overlap": "5m"},
        {"rotateAfter": "2d", "overlap": "36h"},
    ],
)
async def test_a_rotation_that_cannot_work_is_refused(password: dict[str, str]) -> None:
    world = UsersWorld()
    world.user(password=password)
    async with world.operator():
        await world.until(lambda: world.user_stalled() == "InvalidSpec")


@settings(max_examples=8, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(deaths=st.lists(st.integers(1, 6), max_size=2), lost=st.sampled_from([0.0, 0.2]), seed=st.integers(0, 99))
def test_an_application_can_connect_whatever_is_lost_or_killed_during_rotations(
    deaths: list[int], lost: float, seed: int
) -> None:
    played(story(deaths, lost, seed))


async def story(deaths: list[int], lost: float, seed: int) -> None:
    """Rotate while operators die; each Secret that an application has read stays valid for the overlap."""
    world = UsersWorld(seed)
    world.user(password={"rotateAfter": "1h", "overlap": "30m"})
    async with world.operator():
        await world.until(world.user_ready)
    for writes in (*deaths, 0):
        read, moment = world.connection(), world.context.now
        world.database.wire = world.wire(seed)
        world.database.wire.rates = Rates(error=lost / 2, lost=lost, garbled=lost / 3)
        network, left = Network(world.context.stream(f"dying {writes}"), world.context.count), [writes]

        def wrote(*_: object, left: list[int] = left, network: Network = network) -> None:
            left[0] -= 1
            if left[0] == 0:
                network.dead = world.database.wire.dead = True

        network.write_done = wrote
        world.database.wire.command_done = wrote
        await asyncio.sleep(3600 - 60)
        async with world.operator(network=network):
            while world.context.now < moment + 3600 + 1500:
                assert world.passwords.get(read["username"]) == read["password"], "valid for the overlap"
                assert world.application_connects() or world.database.wire.dead
                await asyncio.sleep(100)
        world.database.wire = world.wire(seed)
        async with world.operator():
            await world.until(lambda: world.user_ready() and world.application_connects(), 7200)
            await world.until(lambda: len(world.passwords) == 1, 7200)
    assert world.store.get("/secrets", Key(HOME, "shop-connection")) is not None


def ask_for_certificate(world: UsersWorld, name: str) -> None:
    """Let the cluster name a Secret with the certificate for clients."""
    assert isinstance(world.found, SearchCluster)
    security = Security(http=HttpSecurity(secret_name=name))
    world.found = replace(world.found, spec=replace(world.found.spec, security=security))


ALLOWED = {"stateward.dev/allowed-for-pods": "logs"}


async def test_certificates_of_a_secret_that_is_not_allowed_are_not_given_to_applications() -> None:
    """Otherwise the author of a cluster and of a user could read `ca.crt` of any Secret of the namespace."""
    world = UsersWorld()
    world.secret("theirs", {}, **{"ca.crt": "SECRET"})
    ask_for_certificate(world, "theirs")
    world.user()
    async with world.operator():
        await world.until(lambda: world.user_stalled() == "SecretNotAllowed")
        assert "must have the label" in world.user_condition("Stalled")["message"]
        assert "SECRET" not in world.connection().values()
        world.label_secret("theirs", ALLOWED)
        await world.until(lambda: world.connection().get("ca.crt") == "SECRET")


async def test_an_application_keeps_its_certificates_while_others_are_not_allowed() -> None:
    world = UsersWorld()
    world.user(password=ROTATED)
    async with world.operator():
        await world.until(world.user_ready)
        first = world.connection()
        world.secret("theirs", {}, **{"ca.crt": "SECRET"})
        ask_for_certificate(world, "theirs")
        await asyncio.sleep(11 * HOUR)
        assert world.application_connects()
        assert world.connection()["password"] != first["password"]
        assert world.connection()["ca.crt"] == "PEM"
        assert "must have the label" in world.user_condition("Ready")["message"]


async def test_without_the_option_certificates_of_every_secret_are_given() -> None:
    world = UsersWorld()
    world.labelled = False
    world.secret("theirs", {}, **{"ca.crt": "SECRET"})
    ask_for_certificate(world, "theirs")
    world.user()
    async with world.operator():
        await world.until(lambda: world.connection().get("ca.crt") == "SECRET")


async def test_certificates_of_another_owner_under_the_clusters_name_are_not_given() -> None:
    world = UsersWorld()
    world.label_secret("logs-ca", {})
    world.user()
    async with world.operator():
        await world.until(lambda: world.user_stalled() == "SecretNotAllowed")
    assert "ca.crt" not in world.connection()
