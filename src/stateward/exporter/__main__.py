"""`python -m stateward.exporter FOLDER`: see `docs/monitoring.md`."""

import asyncio
import sys

from stateward.exporter.serving import run

asyncio.run(run(sys.argv[1]))
