"""`python -m stateward.exporter FOLDER`: see `docs/monitoring.md`."""

import asyncio
import sys

from stateward.exporter.process import run

asyncio.run(run(sys.argv[1]))
