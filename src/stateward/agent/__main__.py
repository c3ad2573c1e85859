"""`python -m stateward.agent`: see `docs/agent.md`."""

import signal
import sys

if sys.argv[1:2] == ["run"]:
    # The kernel drops a TERM to process 1 that has no handler yet: the database would start in a pod that ends, and be
    # killed at the end of the grace period. A blocked signal waits for the handler. Only the interpreter starts before.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})

from stateward.agent.commandline import main

sys.exit(main(sys.argv[1:]))
