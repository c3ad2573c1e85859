"""Certificate authorities of clusters, and the certificates that they sign.

Kept apart from Kubernetes and from the clock: every function takes the time, in seconds since the epoch, and texts in
PEM. `certificate` makes and reads single certificates, `authority` is an authority through its life.
"""

from stateward.pki.authority import Authority, changed, new_authority
from stateward.pki.certificate import DAYS, LEFT, Pair, due, ends, fits, issue, signs

__all__ = ["DAYS", "LEFT", "Authority", "Pair", "changed", "due", "ends", "fits", "issue", "new_authority", "signs"]
