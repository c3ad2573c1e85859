"""Large blocks of memory go back to the system, where the C library can do that."""

import platform

from stateward.operator.runtime.memory import return_large_blocks


def test_the_c_library_takes_the_limit_or_has_none() -> None:
    assert return_large_blocks() is (platform.libc_ver()[0] == "glibc")
