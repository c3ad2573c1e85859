"""The stand-in with TLS: it talks only to holders of a certificate of the cluster, and takes new ones as it runs."""

import asyncio
import contextlib
import json
import os
import ssl
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path

import pytest

from sandbox.foundationdb.programs import program
from sandbox.foundationdb.wire import Tls, refresh
from stateward import pki
from tests.support.own import lasting_port

NOW = time.time()
DATA = Path(__file__).parents[2] / "engines/data/foundationdb/recorded-7.3.62"


def write(folder: Path, authority: pki.Pair, name: str, trusted: str) -> dict[str, str]:
    """Write a certificate of a name, and return the variables by which programs find it."""
    folder.mkdir(exist_ok=True)
    pair = pki.issue(authority, name, (name,), NOW)
    for file, text in (("tls.crt", pair.certificate), ("tls.key", pair.key), ("ca.crt", trusted)):
        (folder / f"{file}.new").write_text(text)
        (folder / f"{file}.new").rename(folder / file)
    files = {"CERTIFICATE": "tls.crt", "KEY": "tls.key", "CA": "ca.crt"}
    found = {f"FDB_TLS_{what}_FILE": str(folder / file) for what, file in files.items()}
    return {**found, "FDB_TLS_VERIFY_PEERS": "S.CN=member.one|S.CN=client.one"}


class Place:
    """One process with TLS, and its command line."""

    def __init__(self, root: Path, version: str = "7.1.67") -> None:
        self.root = root
        self.authority = pki.new_authority("ours", NOW).signs
        self.port = lasting_port()
        self.file = root / "fdb.cluster"
        self.file.write_text(f"test:first@127.0.0.1:{self.port}:tls\n")
        (root / "data").mkdir()
        for name in ("fdbserver", "fdbcli"):
            (root / name).write_bytes(program(name, version))
        self.server = self.certificate("member.one")

    def certificate(self, name: str, authority: pki.Pair | None = None) -> dict[str, str]:
        return write(self.root / name, authority or self.authority, name, self.authority.certificate)

    def words(self, name: str, *words: str) -> list[str]:
        return [sys.executable, "-IB", str(self.root / name), *words]

    @contextlib.contextmanager
    def runs(self) -> Generator[None]:
        address = f"127.0.0.1:{self.port}:tls"
        words = ["--public_address", address, "--listen_address", address, "--datadir", str(self.root / "data")]
        words += ["--cluster_file", str(self.file), "--knob_tls_cert_refresh_delay_seconds=0.1"]
        command = self.words("fdbserver", *words)
        with subprocess.Popen(command, env={**os.environ, **self.server}, stdout=subprocess.DEVNULL) as process:
            try:
                yield
            finally:
                process.terminate()
                process.wait(20)

    def available(self, variables: dict[str, str], seconds: float = 30.0) -> bool:
        """Return whether a client reaches the coordinator within a time."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if json.loads(self.printed(variables, "status json")[1])["client"]["coordinators"]["quorum_reachable"]:
                return True
            time.sleep(0.2)
        return False

    def printed(self, variables: dict[str, str], command: str) -> tuple[int, str]:
        """Return the exit code of a command, and what it printed."""
        words = self.words("fdbcli", "-C", str(self.file), "--timeout", "20", "--exec", command)
        done = subprocess.run(words, env={**os.environ, **variables}, capture_output=True, text=True, check=False)
        return done.returncode, f"{done.stdout}{done.stderr}".strip()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_only_clients_with_a_certificate_of_the_cluster_are_answered(place: Place) -> None:
    stranger = pki.new_authority("another", NOW).signs
    with place.runs():
        assert place.available(place.certificate("client.one"))
        assert not place.available({}, 2.0), "without a certificate"
        assert not place.available(place.certificate("client.two"), 2.0), "with a name that is not believed"
        assert not place.available(place.certificate("client.one", stranger), 2.0), "of another authority"
        assert place.available(place.certificate("client.one"))


def test_a_client_of_7_3_without_a_certificate_is_answered_as_by_real_processes(tmp_path: Path) -> None:
    recorded = json.loads((DATA / "transcripts.json").read_text(encoding="utf-8"))
    real = {entry["label"].removeprefix("uncertified-"): entry for entry in recorded if "uncertified" in entry["label"]}
    place = Place(tmp_path, "7.3.62")
    stranger = pki.new_authority("another", NOW).signs
    bare = {key: value for key, value in place.server.items() if "CERTIFICATE" not in key and "KEY" not in key}
    with place.runs():
        member = place.certificate("member.one")
        assert place.available(member)
        assert place.printed(member, "configure new single ssd") == (0, "Database created")
        for name in ("kill", "exclude", "configure"):
            assert place.printed(bare, real[name]["command"]) == (1, real[name]["output"]), name
        code, text = place.printed(bare, "coordinators")
        assert (code, text.count(":tls")) == (0, 1)
        found, same = (
            json.loads(document) for document in (place.printed(bare, "status json")[1], real["status"]["output"])
        )
        assert found["cluster"] == same["cluster"]
        assert found["client"]["messages"] == same["client"]["messages"]
        assert found["client"]["coordinators"]["quorum_reachable"] is True
        assert found["client"]["database_status"] == same["client"]["database_status"]
        assert not place.available(place.certificate("client.two"), 2.0), "with a name that is not believed"
        assert not place.available(place.certificate("client.one", stranger), 2.0), "of another authority"


def test_a_new_certificate_is_shown_without_a_restart(place: Place) -> None:
    async def shown() -> bytes | None:
        context = ssl.create_default_context(cafile=place.root / "client.one" / "ca.crt")
        context.check_hostname = False
        context.load_cert_chain(place.root / "client.one" / "tls.crt", place.root / "client.one" / "tls.key")
        _, writer = await asyncio.open_connection("127.0.0.1", place.port, ssl=context)
        found = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        writer.close()
        return found

    client = place.certificate("client.one")
    with place.runs():
        assert place.available(client)
        before = asyncio.run(shown())
        place.certificate("member.one")
        end = time.monotonic() + 20
        while asyncio.run(shown()) == before:
            assert time.monotonic() < end
            time.sleep(0.1)
        assert place.available(client)


async def test_a_certificate_whose_key_is_not_there_yet_changes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    authority = pki.new_authority("ours", NOW).signs
    write(tmp_path / "one", authority, "member.one", authority.certificate)
    tls = Tls(*(str(tmp_path / "one" / name) for name in ("tls.crt", "tls.key", "ca.crt")))
    context = tls.context(ssl.Purpose.CLIENT_AUTH)
    before = ssl.PEM_cert_to_DER_cert((tmp_path / "one/tls.crt").read_text())
    task = asyncio.create_task(refresh(tls, context, 0.001))
    await asyncio.sleep(0)
    (tmp_path / "one/tls.crt").write_text(pki.issue(authority, "member.one", ("member.one",), NOW).certificate)
    said = ""
    async with asyncio.timeout(20):
        while "cannot be read again" not in said:
            await asyncio.sleep(0.001)
            said += capsys.readouterr().out
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=context)
    async with server:
        write(tmp_path / "client", authority, "client.one", authority.certificate)
        client = Tls(*(str(tmp_path / "client" / name) for name in ("tls.crt", "tls.key", "ca.crt")))
        _, writer = await asyncio.open_connection(
            *server.sockets[0].getsockname(), ssl=client.context(ssl.Purpose.SERVER_AUTH)
        )
        assert writer.get_extra_info("ssl_object").getpeercert(binary_form=True) == before
        writer.close()
    task.cancel()


def test_an_address_with_tls_needs_certificates(place: Place) -> None:
    words = place.words("fdbserver", "-p", f"127.0.0.1:{place.port}:tls", "-C", str(place.file), "-d", str(place.root))
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, "no certificates" in done.stderr) == (1, True)
