"""What an application may rely on after it has read a connection Secret."""

from types import SimpleNamespace
from typing import Any

import pytest

from stateward.simulation.opensearch.stored_objects import USERS, StoredObjects
from stateward.simulation.properties.declared.logins import Logins

pytestmark = pytest.mark.simulation

UID, OVERLAP = "u", 600.0


class Applications:
    """One database, one SearchUser, and what its connection Secret has said."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self.objects = StoredObjects()
        self.cluster: Any = SimpleNamespace(identity="one", objects=self.objects)
        world: Any = SimpleNamespace(
            now=0.0,
            clock_error=0.0,
            product=SimpleNamespace(engine="opensearch"),
            context=SimpleNamespace(count=print, trace=print),
            database=lambda: self.cluster,
            formed=lambda: [self.cluster],
        )
        self.world = world
        self.logins = Logins(world, lambda letter, text: self.found.append(f"{letter}: {text}"))

    def write(self, name: str, password: str | None, uid: str = UID) -> list[str]:
        """Let the operator write a user, or delete it (None); return all violations so far."""
        body = None if password is None else {"password": password}
        self.logins.before(self.cluster)
        self.objects.put(USERS + name, body)
        self.logins.after(self.cluster, USERS + name, body, uid)
        return self.found

    def publish(self, name: str, password: str, given: str = "") -> list[str]:
        self.logins.published(UID, {"username": name, "password": password}, OVERLAP, given=given)
        return self.found


async def test_a_published_user_keeps_its_password() -> None:
    seen = Applications()
    seen.write("shop-1", "first")
    assert not seen.publish("shop-1", "first")
    assert not seen.write("shop-1", "first"), "other roles"
    assert len(seen.write("shop-1", "second")) == 1


async def test_the_previous_user_stays_for_the_overlap() -> None:
    for seconds, wrong in ((OVERLAP - 2, 1), (OVERLAP, 0)):
        seen = Applications()
        seen.write("shop-1", "first")
        seen.publish("shop-1", "first")
        seen.write("shop-2", "second")
        seen.publish("shop-2", "second")
        seen.world.now = seconds
        assert len(seen.write("shop-1", None)) == wrong
        assert len(seen.write("shop-2", None)) == wrong + 1


async def test_an_overlap_that_a_person_shortens_ends_earlier_and_one_that_is_extended_ends_as_before() -> None:
    for asked, seconds, wrong in ((60.0, 58.0, 1), (60.0, 60.0, 0), (2 * OVERLAP, OVERLAP, 0)):
        seen = Applications()
        seen.write("shop-1", "first")
        seen.publish("shop-1", "first")
        seen.write("shop-2", "second")
        seen.publish("shop-2", "second")
        seen.logins.overlap_is(UID, asked)
        seen.world.now = seconds
        assert len(seen.write("shop-1", None)) == wrong
        assert len(seen.write("shop-2", None)) == wrong + 1, "the Secret names it"


async def test_a_user_is_in_the_database_before_the_secret_names_it() -> None:
    seen = Applications()
    seen.write("shop-1", "first")
    (found,) = seen.publish("shop-1", "second")
    assert found.startswith("r: the connection Secret names shop-1")


async def test_what_other_clients_and_people_have_changed_is_not_the_operators_fault() -> None:
    seen = Applications()
    seen.write("shop", "first")
    seen.publish("shop", "first")
    seen.objects.put(f"{USERS}shop", {"password": "of another client"})
    assert not seen.logins.untouched(seen.cluster, f"{USERS}shop")
    assert not seen.write("shop", "second")
    seen.publish("shop", "second")
    seen.logins.withdrawn(UID)
    assert not seen.write("shop", "third")
    seen.publish("shop", "third")
    assert not seen.write("shop", "fourth", "another resource, which adopts it")


async def test_a_password_of_people_changes_at_once() -> None:
    seen = Applications()
    seen.write("shop", "first")
    seen.publish("shop", "first", given="shop")
    assert not seen.write("shop", "second")
    seen.publish("shop", "second")
    seen.logins.follows(UID, f"{USERS}shop")
    assert not seen.write("shop", "third")
