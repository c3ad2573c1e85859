"""A crash keeps the configuration; a start on request takes the new one."""

from tests.unit.agent.pod import Pod

SHOWS = "cat $STATEWARD_CONFIG/database.yml; exec sleep 300"


def test_a_container_that_comes_back_after_a_crash_has_the_configuration_it_had(pod: Pod) -> None:
    keep = ("--keep", str(pod.root / "kept"))
    pod.run(SHOWS, *keep).expect("a: 1")
    running = pod.get()["runningChecksum"]
    pod.close()
    (pod.config / "database.yml").write_text("a: 2\n")
    pod.run(SHOWS, *keep).expect("a: 1")
    found = pod.get()
    assert found["runningChecksum"] == running != found["mountedChecksum"]
    pod.stop()
    assert pod.post("start", {"checksum": found["mountedChecksum"]})[0] == 200
    pod.expect("a: 2")


def test_in_a_start_phase_it_comes_back_with_the_mounted_configuration(pod: Pod) -> None:
    keep = ("--keep", str(pod.root / "kept"))
    pod.run(SHOWS, *keep).expect("a: 1")
    pod.close()
    (pod.config / "database.yml").write_text("a: 2\n")
    pod.phase.write_text("start-coordinated")
    pod.run(SHOWS, *keep).expect("a: 2")


def test_a_configuration_that_cannot_be_kept_is_reported_and_starts_nothing(pod: Pod) -> None:
    keep = pod.root / "kept"
    pod.phase.write_text("stop")
    pod.run(SHOWS, "--keep", str(keep))
    keep.write_text("a file in its place")
    status, refused = pod.post("start")
    assert status == 503
    assert "could not be kept" in refused["error"]
    assert pod.get()["state"] == "stopped"
