"""How the process asks the system for memory."""

import ctypes

LARGE = 64 << 10
"""Size in bytes from which on a block of memory is returned to the system when it is freed."""
_M_MMAP_THRESHOLD = -3
"""The number of the option in glibc's malloc.h."""


def return_large_blocks() -> bool:
    """Return freed blocks of `LARGE` bytes or more to the system; False if the C library has no such option.

    glibc begins with 128 KiB and raises the limit to the largest block that was ever freed. Then the buffers of TLS
    connections (256 KiB) lie between small objects that live for long: with 500 secured clusters, a quarter of the
    operator's memory was such gaps.
    """
    option = getattr(ctypes.CDLL(None), "mallopt", None)
    return option is not None and option(_M_MMAP_THRESHOLD, LARGE) == 1
