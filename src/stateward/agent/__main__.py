"""`python -m stateward.agent`: see `docs/agent.md`."""

import sys

from stateward.agent.commandline import main

sys.exit(main(sys.argv[1:]))
