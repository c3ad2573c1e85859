"""Why an object could not be applied or removed, as far as a plan needs to know."""


class FatalError(Exception):
    """Something that will not pass by itself: the plan has failed."""


class HeldError(Exception):
    """Only other clients can change this; it is checked again later."""


class NotAllowedError(HeldError):
    """An account lacks a right or may not be used; the message names it and says what to do."""
