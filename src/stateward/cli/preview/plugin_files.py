"""Looks for the files of plug-ins where members would download them: an upgrade stops at a version that has none.

The requests go out from the viewer's machine, and only on request: the addresses are in the spec.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace

from stateward.api.kinds.search import SearchCluster
from stateward.api.values.problem import Problem, Severity
from stateward.cli.preview.inputs import PlanInputs
from stateward.engines.search.plugins.files import PluginFile, downloads

PATIENCE = 15.0
"""Seconds for one answer."""
ABSENT = (403, 404, 410)
"""What servers answer for a file that is not there."""
NO_HEAD = (405, 501)
"""What servers answer that know no HEAD."""

Status = Callable[[str], Awaitable[int]]
"""Returns the status that an address is answered with; raises OSError or TimeoutError without an answer."""
Web = Callable[[], AbstractAsyncContextManager[Status]]


@asynccontextmanager
async def web() -> AsyncGenerator[Status]:
    """Give what asks servers for the status of an address."""
    import aiohttp  # noqa: PLC0415 - slow to import, and hardly ever used

    timeout = aiohttp.ClientTimeout(total=PATIENCE)
    async with aiohttp.ClientSession(timeout=timeout, trust_env=True) as session:

        async def status(address: str) -> int:
            try:
                async with session.head(address, allow_redirects=True) as answer:
                    found = answer.status
                if found not in NO_HEAD:
                    return found
                async with session.get(address) as answer:  # Its body is not read.
                    return answer.status
            except aiohttp.ClientError as error:
                raise OSError(str(error) or type(error).__name__) from error

        yield status


async def with_plugin_files(found: PlanInputs, web: Web | None) -> PlanInputs:
    """Return the inputs of a plan with what is known of the files of plug-ins; nothing is asked without `web`."""
    if not isinstance(cluster := found.cluster, SearchCluster):
        return found
    version = cluster.spec.version
    files = downloads(cluster, version)
    if web is None:
        other = files and cluster.status.version not in ("", version)
        names = ", ".join(file.name for file in files)
        note = f"--check-plugins shows whether there are plug-ins for {version}: {names}"
        return replace(found, notes=(*found.notes, note)) if other else found
    async with web() as status:
        answers = await asyncio.gather(*(_looked_up(file, version, status) for file in files))
    missing = [each for each in answers if isinstance(each, Problem)]
    notes = [each for each in answers if isinstance(each, str)]
    return replace(found, obstacles=(*found.obstacles, *missing), notes=(*found.notes, *notes))


async def _looked_up(file: PluginFile, version: str, status: Status) -> Problem | str | None:
    try:
        code = await status(file.place)
    except (OSError, TimeoutError) as error:
        why = str(error) or "no answer"
        return f"plug-in {file.name} for {version}: {file.place} could not be asked from here: {why}"
    if code in ABSENT:
        text = f"there is none for {version}: {file.place} is answered with {code}, so no new pod would start"
        return Problem("spec.plugins", file.name, text, Severity.WARNING)
    if code >= 400:
        return f"plug-in {file.name} for {version}: {file.place} is answered with {code} from here"
    return None
