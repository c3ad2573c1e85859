"""What is exposed when members are lost: coordinators, copies on fault domains, and the transaction system."""

from collections.abc import Iterable

from stateward.simulation.foundationdb.recovery import Timing
from stateward.simulation.rehearsal.foundationdb.machines import Machine
from stateward.simulation.rehearsal.foundationdb.model import COORDINATORS, LOGS, DatabaseModel
from tests.unit.simulation.rehearsal.foundationdb.samples import GIB, START, cluster, running

TIMING = Timing(recruiting=2.0, patience=60.0, silent=4.0, forgotten=8.0)
STORAGE = [f"ledger-storage-{i}" for i in range(5)]
LOG = [f"ledger-log-{i}" for i in range(4)]


class Played:
    """A database in which time passes."""

    def __init__(self, copies: str = "double", stored: int = GIB) -> None:
        self.now = START
        of = cluster(redundancy=copies)
        self.model = DatabaseModel(running(copies, stored), of, TIMING, lambda: self.now)
        self.model.advance()

    def cut(self, names: Iterable[str], *, dead: bool = True) -> None:
        for name in names:
            self.model.cut(name, dead=dead)

    def back(self, *names: str) -> None:
        for name in names:
            machine = self.model.machines[name]
            self.model.start(name, machine.pod, "7.1.57", lambda: Machine("one process", "storage", ""))

    def lose(self, *names: str) -> None:
        """Lose the volumes of members, whose processes start again with empty ones."""
        for name in names:
            self.model.end(name)
            self.model.wipe(name)
        self.back(*names)

    def after(self, seconds: float) -> None:
        self.now += seconds
        self.model.advance()

    @property
    def teams(self) -> tuple[int, int]:
        """How many teams have no second copy, and how many have no copy."""
        found = self.model.exposure()
        single, red = (sum(name.startswith("team") for name in names) for names in (found.single, found.red))
        return single, red


def test_a_healthy_database_exposes_nothing() -> None:
    found = Played().model.exposure()
    assert (found.single, found.red, found.refused) == (frozenset(), frozenset(), False)


def test_two_copies_without_one_domain_are_one_copy_of_each_of_its_teams() -> None:
    played = Played()
    played.cut(STORAGE[:1])
    assert played.teams == (4, 0)
    assert not played.model.exposure().refused


def test_two_copies_without_two_domains_are_no_copy_of_the_team_that_they_share() -> None:
    played = Played()
    played.cut(STORAGE[3:])
    assert played.teams == (7, 1)
    assert played.model.exposure().refused


def test_three_copies_bear_one_domain_and_have_a_single_copy_without_two() -> None:
    played = Played("triple")
    played.cut(STORAGE[4:])
    assert played.teams == (0, 0)
    played.cut(STORAGE[3:4])
    assert played.teams == (3, 0)
    played.cut(STORAGE[2:3])
    assert played.teams[1] == 1


def test_a_single_copy_is_not_one_that_lacks_another() -> None:
    played = Played("single")
    assert played.teams == (0, 0)
    played.cut(STORAGE[4:])
    assert played.teams == (0, 1)


def test_data_is_copied_again_after_a_minute_in_the_time_that_it_takes_and_then_another_domain_may_go() -> None:
    played = Played(stored=GIB)
    played.cut(STORAGE[4:])
    played.after(59.0)
    assert played.teams == (4, 0)
    # One GiB at 16 MiB/s.
    played.after(1.0 + 70.0)
    assert played.teams == (0, 0)
    played.cut(STORAGE[3:4])
    assert played.teams[1] == 0


def test_a_member_that_returns_in_time_has_its_copies() -> None:
    played = Played()
    played.cut(STORAGE[4:])
    played.after(30.0)
    played.back(STORAGE[4])
    played.after(1.0)
    assert played.teams == (0, 0)


def test_data_is_lost_only_with_the_volumes_of_as_many_domains_as_there_are_copies() -> None:
    played = Played(stored=2**20)
    played.lose(STORAGE[4])
    played.after(1.0)
    assert played.teams == (4, 0)
    played.after(120.0)
    assert played.teams == (0, 0)
    played.lose(STORAGE[4], STORAGE[3])
    played.after(600.0)
    assert played.teams[1] > 0


def test_a_minority_of_the_coordinators_may_go_and_a_majority_stops_the_database_until_it_is_back() -> None:
    played = Played()
    played.cut(STORAGE[:1])
    assert played.model.quorum
    played.cut(STORAGE[1:2])
    assert not played.model.quorum
    assert played.model.exposure().refused
    played.back(STORAGE[1])
    played.after(10.0)
    assert played.model.quorum
    assert not played.model.exposure().refused


def test_a_coordinator_with_an_empty_disk_learns_from_the_others() -> None:
    played = Played(stored=2**20)
    played.lose(STORAGE[0])
    played.after(120.0)
    played.lose(STORAGE[1])
    played.after(120.0)
    assert COORDINATORS not in played.model.exposure().red
    assert played.model.quorum


def test_most_coordinators_with_empty_disks_lose_the_database() -> None:
    played = Played()
    played.lose(STORAGE[0], STORAGE[1])
    played.after(600.0)
    assert COORDINATORS in played.model.exposure().red
    assert played.model.exposure().refused


def test_the_loss_of_a_process_of_the_transaction_system_is_noticed_and_recovered_from() -> None:
    played = Played()
    played.cut(["ledger-stateless-1"])
    assert played.model.exposure().refused
    played.after(3.9)
    assert played.model.exposure().refused
    played.after(2.5)
    assert not played.model.exposure().refused


def test_a_spare_log_is_no_loss() -> None:
    played = Played()
    played.cut(LOG[3:])
    assert not played.model.exposure().refused


def test_a_log_leaves_a_single_copy_of_the_last_writes_until_storage_has_read_them() -> None:
    played = Played()
    played.cut(LOG[:1])
    assert LOGS in played.model.exposure().single
    played.after(6.5)
    assert LOGS in played.model.exposure().single
    assert not played.model.exposure().refused
    played.after(5.0)
    assert LOGS not in played.model.exposure().single


def test_without_enough_logs_of_the_last_generation_nothing_recovers_until_one_is_back() -> None:
    played = Played()
    played.cut(LOG[:2])
    played.after(300.0)
    assert LOGS in played.model.exposure().red
    assert played.model.exposure().refused
    played.back(LOG[0])
    played.after(10.0)
    assert not played.model.exposure().refused


def test_a_process_that_was_cut_off_for_a_moment_keeps_its_role() -> None:
    played = Played()
    played.cut(["ledger-stateless-1"], dead=False)
    played.after(2.0)
    played.model.heal("ledger-stateless-1")
    played.after(0.5)
    assert not played.model.exposure().refused
    assert played.model.state.epochs[-1].number == 1


def test_a_database_at_rest_changes_at_no_time_of_its_own() -> None:
    played = Played()
    played.after(100.0)
    assert played.model.next_change() == float("inf")
