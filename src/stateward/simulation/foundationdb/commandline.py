"""`fdbcli --exec`: the output and exit code of its commands, including their traps.

The texts and the codes are those of versions 7.1 and 7.3, read from their sources. A command that changes something
needs a cluster, and waits for it without a limit unless there is a timeout; `status json` needs no cluster.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from stateward.simulation.foundationdb.addresses import endpoint, host, is_coordinator, is_exclusion
from stateward.simulation.foundationdb.status import PATIENCE, timed_out

Ask = Callable[[dict[str, Any]], Awaitable[dict[str, Any] | None]]
"""A request to the cluster: its response, or None if no cluster responds."""
AGAIN = 2.0
"""Seconds after which a status looks again whether the database is available."""
FORCE = "Type `configure FORCE <TOKEN...>' to configure without this check"
MIGRATION = (
    "ERROR: Storage engine type cannot be changed because storage_migration_type=disabled.\n"
    "Type `configure perpetual_storage_wiggle=1 storage_migration_type=gradual' to enable gradual migration with the "
    "perpetual wiggle, or `configure storage_migration_type=aggressive' for aggressive migration."
)
CONFIGURED = {
    "created": ("Database created", True),
    "changed": ("Configuration changed", True),
    "usage": ("Usage: configure [new] <single|double|triple|ssd|memory|logs=<LOGS>|...>*", False),
    "exists": ("ERROR: Database already exists! To change configuration, don't say `new'", False),
    "unavailable": (f"ERROR: The database is unavailable\n{FORCE}", False),
    "workers": (f"ERROR: Not enough processes exist to support the specified configuration\n{FORCE}", False),
    "migration": (MIGRATION, False),
}
FULL = (
    "ERROR: This exclude may cause the total free space in the cluster to drop below 10%.\n"
    "Call set(0xff0x02/management/options/exclude/force, ...) first to exclude without checking free space.\n"
    "Type `exclude FORCE <ADDRESS...>' to exclude without checking free space."
)


DISTRIBUTION: Mapping[tuple[str, ...], tuple[str, bool, str]] = {
    ("on",): ("on", True, "Data distribution is turned on."),
    ("off",): ("on", False, "Data distribution is turned off."),
    ("enable", "ssfailure"): ("failures", True, "Data distribution is enabled for storage server failures."),
    ("disable", "ssfailure"): ("failures", False, "Data distribution is disabled for storage server failures."),
}
"""What `datadistribution` changes, and what it says."""
NO_MAINTENANCE = (
    "ERROR: Maintenance mode cannot be used while data distribution is disabled for storage server failures. Use "
    "'datadistribution on' to reenable data distribution."
)
UNTRUSTED = "ERROR: Client tried to access unauthorized data (6000)"
UNTRUSTED_KILL = "ERROR: A untrusted client tried to send a message to a private endpoint (6001)"
"""What 7.3 says to a client without a certificate."""


class FailedError(Exception):
    """A failed command with its output; the following commands do not run."""


@dataclass(slots=True)
class Run:
    """One run of the command line."""

    ask: Ask
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    identity: Callable[[], str] = lambda: "0" * 32
    """Creates the id of a new generation of coordinators."""
    lines: list[str] = field(default_factory=list[str])
    listed: set[str] = field(default_factory=set[str])
    """The processes listed by a `kill` without arguments, without `:tls`."""

    async def execute(self, line: str, seconds: float = 0.0) -> tuple[int, str]:
        """Run commands separated by semicolons; return the exit code and the output. Zero seconds mean no timeout."""
        try:
            async with asyncio.timeout(seconds or None):
                code = await self._all([words for part in line.split(";") if (words := part.split())])
        except TimeoutError:
            self.lines.append("Specified timeout reached -- exiting...")
            code = 1
        return code, "".join(f"{line}\n" for line in self.lines)

    async def _all(self, commands: list[list[str]]) -> int:
        known: dict[str, Callable[[list[str]], Awaitable[None]]] = {
            "status": self._status,
            "configure": self._configure,
            "exclude": self._exclude,
            "include": self._include,
            "kill": self._kill,
            "coordinators": self._coordinators,
            "maintenance": self._maintenance,
            "datadistribution": self._distribution,
            "sleep": self._sleep,
        }
        for number, words in enumerate(commands):
            if len(commands) > 1:
                self.lines.append(f">>> {' '.join(words)}")
            try:
                await known.get(words[0], self._unknown)(words[1:])
            except FailedError as error:
                self.lines.append(str(error))
                if number + 1 < len(commands):
                    self.lines.append(
                        "WARNING: the previous command failed, the remaining commands will not be executed."
                    )
                return 1
        return 0

    async def _unknown(self, words: list[str]) -> None:
        del words
        raise FailedError("ERROR: Unknown command. Try `help'?")

    async def _do(self, untrusted: str = UNTRUSTED, **request: Any) -> dict[str, Any]:
        """Repeat the request until a cluster responds; raise FailedError if it does not trust this client."""
        while (answer := await self.ask(request)) is None:
            await self.sleep(0.5)
        if "untrusted" in answer:
            raise FailedError(untrusted)
        return answer

    async def _status(self, words: list[str]) -> None:
        if words != ["json"]:
            raise FailedError("ERROR: the stand-in knows only `status json'")
        document, waited = await self.ask({"op": "status"}), 0.0
        while document is not None and timed_out(document) and waited < PATIENCE:
            await self.sleep(AGAIN)
            document, waited = await self.ask({"op": "status"}), waited + AGAIN
        self.lines.append(_printed(document))

    async def _sleep(self, words: list[str]) -> None:
        await self.sleep(float(words[0]))

    async def _configure(self, words: list[str]) -> None:
        words = [word for word in words if word != "FORCE"]
        new = words[:1] == ["new"]
        request: dict[str, Any] = {"op": "configure", "new": new, "options": words[1:] if new else words}
        while (answer := await self._do(**request))["result"] == "waits":
            await self.sleep(0.5)
        text, good = CONFIGURED[answer["result"]]
        if not good:
            raise FailedError(text)
        self.lines.append(text)

    async def _exclude(self, words: list[str]) -> None:
        flags = {word for word in words if word in {"FORCE", "no_wait", "failed"}}
        targets = [word for word in words if word not in flags]
        if not words:
            return await self._excluded()
        wrong = next((target for target in targets if not is_target(target)), None)
        if wrong is not None:
            # The exit code is 0, as that of the real one: a trap.
            self.lines += refusal(wrong)
            return None
        if not targets:
            raise FailedError("ERROR: At least one valid network endpoint address or a locality is not provided")
        before = (await self._do(op="workers"))["workers"]
        answer = await self._do(op="exclude", targets=targets, failed="failed" in flags, force="FORCE" in flags)
        if answer["result"] == "full":
            raise FailedError(FULL)
        matched = {target: matches(target, before) for target in targets}
        named = [a for target in targets for a in (matched[target] if is_locality(target) else [target])]
        going = await self._wait(named, wait="no_wait" not in flags)
        self.lines += [verdict(address, before, going) for address in named]
        self.lines += [
            f"  {target}  ---- WARNING: Currently no servers found with this locality match! Be sure that you excluded "
            "the correct locality."
            for target in targets
            if is_locality(target) and not matched[target]
        ]
        return await self._warn(named)

    async def _excluded(self) -> None:
        answer = await self._do(op="excluded")
        if not answer["excluded"] and not answer["failed"]:
            self.lines.append("There are currently no servers or localities excluded from the database.")
            self.lines.append("To learn how to exclude a server, type `help exclude'.")
            return
        count = len(answer["excluded"])
        self.lines.append(f"There are currently {count} servers or localities being excluded from the database:")
        self.lines += [f"  {target}" for target in answer["excluded"]]

    async def _wait(self, named: list[str], *, wait: bool) -> list[str]:
        """Return the addresses that are still needed; if requested, wait until there are none."""
        if wait:
            self.lines.append("Waiting for state to be removed from all excluded servers. This may take a while.")
            self.lines.append("(Interrupting this wait with CTRL+C will not cancel the data movement.)")
        while True:
            found = (await self._do(op="in progress"))["addresses"]
            going = [address for address in found if {address, host(address)} & set(named)]
            if not wait or not going:
                return going
            await self.sleep(1.0)

    async def _warn(self, named: list[str]) -> None:
        coordinators: list[str] = (await self._do(op="where"))["addresses"]
        concerned = [c for c in coordinators if endpoint(c) in named or host(c) in named]
        self.lines += [f"WARNING: {coordinator} is a coordinator!" for coordinator in concerned]
        if concerned:
            self.lines.append("Type `help coordinators' for information on how to change the")
            self.lines.append("cluster's coordination servers before removing them.")

    async def _include(self, words: list[str]) -> None:
        targets = [word for word in words if word not in {"all", "failed"}]
        if not words:
            raise FailedError("Usage: include all|[<ADDRESS...>] [locality_<KEY>:<VALUE>]")
        wrong = next((target for target in targets if not is_target(target)), None)
        if wrong is not None:
            raise FailedError("\n".join(refusal(wrong)))
        await self._do(op="include", targets=targets, failed="failed" in words, all="all" in words)

    async def _kill(self, words: list[str]) -> None:
        if not words or words == ["list"]:
            found = (await self._do(UNTRUSTED_KILL, op="workers"))["workers"]
            self.listed = {endpoint(worker["address"]) for worker in found} if not words else self.listed
            self.lines.append(f"\nThe following {len(self.listed)} addresses can be killed:")
            self.lines += [*sorted(self.listed), ""]
            return
        named = sorted(self.listed) if words == ["all"] else words
        unknown = next((address for address in named if address not in self.listed), None)
        if unknown is not None:
            raise FailedError(f"ERROR: process `{unknown}' not recognized.")
        if not named:
            raise FailedError("ERROR: no processes to kill. You must run the `kill' command before running `kill all'.")
        await self._do(op="kill", addresses=named)
        self.lines.append(f"Attempted to kill {len(named)} processes")

    async def _coordinators(self, words: list[str]) -> None:
        if not words:
            where = await self._do(op="where")
            self.lines.append(f"Cluster description: {where['description']}")
            self.lines.append(f"Cluster coordinators ({len(where['coordinators'])}): {','.join(where['coordinators'])}")
            self.lines.append("Type `help coordinators' to learn how to change this information.")
            return
        for word in words:
            if not is_coordinator(word):
                # The exit code is 0, as that of the real one: a trap.
                self.lines.append(f"ERROR: '{word}' is not a valid network endpoint address")
                return
            if words.count(word) > 1:
                self.lines.append(f"ERROR: passed redundant coordinators: `{word}'")
                return
        answer = await self._do(op="coordinators", addresses=words, generation=self.identity())
        if answer["result"] == "unreachable":
            raise FailedError("ERROR: One of the specified coordinators is unreachable")
        same = answer["result"] == "same"
        self.lines.append(
            "No change (existing configuration satisfies request)" if same else "Coordination state changed"
        )

    async def _maintenance(self, words: list[str]) -> None:
        if not words:
            now = await self._do(op="maintenance", zone=None)
            text = f"Maintenance for zone {now['zone']} will continue for {now['seconds']} seconds."
            self.lines.append(text if now["zone"] else "No ongoing maintenance.")
        elif words == ["off"]:
            await self._do(op="maintenance", zone="")
        elif words[0] == "on" and len(words) == 3 and words[2].isdigit():
            done = await self._do(op="maintenance", zone=words[1], seconds=int(words[2]))
            if done.get("result") == "failures ignored":
                raise FailedError(NO_MAINTENANCE)
        else:
            raise FailedError("Usage: maintenance [on|off] [ZONEID] [SECONDS]")

    async def _distribution(self, words: list[str]) -> None:
        if tuple(words) not in DISTRIBUTION:
            raise FailedError("Usage: datadistribution <on|off|disable <ssfailure>|enable <ssfailure>>")
        name, value, text = DISTRIBUTION[tuple(words)]
        change: dict[str, Any] = {"op": "distribution", name: value}
        await self._do(**change)
        self.lines.append(text)


def is_locality(target: str) -> bool:
    """Return whether a target is a locality."""
    return target.startswith("locality_") and ":" in target


def is_target(target: str) -> bool:
    """Return whether a target can be excluded and included."""
    return is_locality(target) or is_exclusion(target)


def refusal(target: str) -> list[str]:
    """Return the error message for an invalid target."""
    lines = [f"ERROR: '{target}' is neither a valid network endpoint address nor a locality"]
    hint = "        Do not include the `:tls' suffix when naming a process"
    return [*lines, hint] if ":tls" in target else lines


def matches(target: str, workers: list[dict[str, str]]) -> list[str]:
    """Return the addresses of the processes of a locality."""
    key, _, value = target.removeprefix("locality_").partition(":")
    return [endpoint(worker["address"]) for worker in workers if worker.get(key) == value]


def verdict(address: str, workers: list[dict[str, str]], going: list[str]) -> str:
    """Return the output for one excluded address."""
    present = {endpoint(worker["address"]) for worker in workers}
    machine = ":" not in address.rpartition("]")[2]
    name, thing = (f"{address}(Whole machine)", "machine") if machine else (address, "process")
    if address not in present and address not in {host(a) for a in present}:
        many = "machines" if machine else "processes"
        return (
            f"  {name}  ---- WARNING: Missing from cluster! Be sure that you excluded the correct {many} before "
            "removing them from the cluster!"
        )
    if address in going or any(host(a) == address for a in going):
        return f"  {name}  ---- WARNING: Exclusion in progress! It is not safe to remove this {thing} from the cluster"
    return f"  {name}  ---- Successfully excluded. It is now safe to remove this {thing} from the cluster."


def _printed(status: dict[str, Any] | None) -> str:
    """Return the status as sorted text, a line for each of its parts.

    The real command breaks the lines of each part, too. `json` does so seven times slower than in one line.
    """
    if status is None:
        return "null"
    return (
        "{\n"
        + ",\n".join(f'    "{name}" : {json.dumps(status[name], sort_keys=True)}' for name in sorted(status))
        + "\n}"
    )
