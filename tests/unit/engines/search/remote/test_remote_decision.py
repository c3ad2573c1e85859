"""What happens to the settings of one alias: only what the operator has made is changed or removed."""

from itertools import product

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stateward.engines.connection.access import Access
from stateward.engines.connection.base import Answer, Call, GarbledError
from stateward.engines.search.database.session import Session
from stateward.engines.search.remote.decision import Do, Found, Wanted, decide, values
from stateward.engines.search.remote.requests import by_alias, found_of, settle

WANTED = Wanted("b-remote.ns.svc:9300", skip_unavailable=True)
OTHER = "old-remote.ns.svc:9300"
NOTHING = Found()
OURS = Found(values(WANTED))
LAX = Found({**values(WANTED), "skip_unavailable": "false"})
EARLIER = Found({**values(WANTED), "proxy_address": OTHER})
SNIFF = Found({"seeds": "10.1.2.3:9300"})
BOTH = Found(values(WANTED), transient=True)


@pytest.mark.parametrize(
    ("wanted", "recorded", "found", "do"),
    [
        (None, "", NOTHING, Do.NOTHING),
        (None, WANTED.address, NOTHING, Do.FORGET),
        (None, WANTED.address, OURS, Do.CLEAR),
        (None, WANTED.address, LAX, Do.CLEAR),
        (None, WANTED.address, EARLIER, Do.FORGET),
        (None, WANTED.address, SNIFF, Do.FORGET),
        (None, WANTED.address, BOTH, Do.FORGET),
        (None, "", OURS, Do.FORGET),
        (WANTED, "", NOTHING, Do.RECORD),
        (WANTED, OTHER, NOTHING, Do.RECORD),
        (WANTED, WANTED.address, NOTHING, Do.SET),
        (WANTED, WANTED.address, OURS, Do.NOTHING),
        (WANTED, WANTED.address, LAX, Do.SET),
        (WANTED, "", OURS, Do.RECORD),
        (WANTED, OTHER, EARLIER, Do.CLEAR),
        (WANTED, WANTED.address, EARLIER, Do.CONFLICT),
        (WANTED, "", SNIFF, Do.CONFLICT),
        (WANTED, WANTED.address, SNIFF, Do.CONFLICT),
        (WANTED, WANTED.address, BOTH, Do.CONFLICT),
    ],
)
def test_the_next_step(wanted: Wanted | None, recorded: str, found: Found, do: Do) -> None:
    assert decide(wanted, recorded, found) is do


ADDRESSES = ["", WANTED.address, OTHER]
STATES = [NOTHING, OURS, LAX, EARLIER, SNIFF, BOTH]


@pytest.mark.parametrize(("recorded", "found"), list(product(ADDRESSES, STATES)))
def test_only_what_is_recorded_is_ever_changed(recorded: str, found: Found) -> None:
    """Whatever is wanted: before the database changes, the status has the address that it has or is about to have."""
    for wanted in (None, WANTED, Wanted(OTHER, skip_unavailable=False)):
        match decide(wanted, recorded, found):
            case Do.SET:
                assert wanted is not None
                assert recorded == wanted.address
                assert found.nothing or found.settings["proxy_address"] == recorded
            case Do.CLEAR:
                assert recorded
                assert found.settings["proxy_address"] == recorded
                assert not found.transient
            case _:
                pass


def test_settings_are_read_by_alias_and_those_of_all_aliases_are_not_one() -> None:
    flat = {
        "cluster.remote.a.mode": "proxy",
        "cluster.remote.a.transport.compress": "true",
        "cluster.remote.initial_connect_timeout": "9s",
        "cluster.name": "x",
    }
    assert by_alias(flat) == {"a": {"mode": "proxy", "transport.compress": "true"}}
    found = found_of({"persistent": flat, "transient": {"cluster.remote.b.seeds": ["c:9300"]}})
    assert found["b"].transient
    assert not found["a"].transient


@pytest.mark.parametrize("answer", [{}, {"transient": {}}, {"persistent": []}, {"persistent": {}, "transient": 3}])
def test_an_answer_without_settings_is_not_an_empty_one(answer: dict[str, object]) -> None:
    with pytest.raises(GarbledError):
        found_of(answer)


@given(st.dictionaries(st.text(max_size=40), st.none() | st.integers() | st.text(max_size=5), max_size=5))
def test_any_settings_can_be_read(flat: dict[str, object]) -> None:
    found_of({"persistent": flat})


class OneDatabase:
    """A database with settings, behind `Transport`."""

    def __init__(self, settings: dict[str, str]) -> None:
        self.settings = settings
        self.written: list[Call] = []

    def within(self, access: Access) -> "OneDatabase":
        raise AssertionError(access)

    async def send(self, call: Call) -> Answer:
        if call.method == "PUT":
            self.written.append(call)
        return Answer(200, msgspec.json.encode({"persistent": self.settings, "transient": {}}))


@pytest.mark.parametrize(
    ("settings", "do", "keys"),
    [
        ({}, Do.SET, {"mode": "proxy", "proxy_address": WANTED.address, "skip_unavailable": "true"}),
        ({"cluster.remote.east.seeds": "10.1.2.3:9300"}, Do.CONFLICT, None),
        ({f"cluster.remote.east.{key}": value for key, value in values(WANTED).items()}, Do.NOTHING, None),
    ],
)
async def test_a_write_follows_from_a_read_right_before_it(
    settings: dict[str, str], do: Do, keys: dict[str, str] | None
) -> None:
    """A person may have set the alias since the round began."""
    database = OneDatabase(settings)
    decided, _ = await settle("east", WANTED, WANTED.address, Session(database, "http://10.0.0.1:9200"))
    assert decided is do
    wanted = [] if keys is None else [{"persistent": {f"cluster.remote.east.{key}": keys[key] for key in keys}}]
    assert [call.body for call in database.written] == wanted


async def test_a_removal_names_exactly_what_was_set() -> None:
    database = OneDatabase({f"cluster.remote.east.{key}": value for key, value in values(WANTED).items()})
    assert (await settle("east", None, WANTED.address, Session(database, "http://10.0.0.1:9200")))[0] is Do.CLEAR
    (call,) = database.written
    assert call.body == {"persistent": {f"cluster.remote.east.{key}": None for key in values(WANTED)}}
