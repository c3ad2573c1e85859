"""Write all generated files of the repository, or check that they are up to date.

Run as `python -m release.generated [--check]` in the root of the repository.
"""

import sys

from release.generated.files import files
from stateward.api.generate import main

if __name__ == "__main__":
    sys.exit(main(wanted=files))
