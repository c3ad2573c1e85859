"""Settings that belong into the keystore of a search engine: passwords and keys, taken from Secrets that are named.

A Secret is named here and never contained. What is not in the keystore when a node starts is not known to it, so a
change of such a Secret restarts processes in their pods.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated

from msgspec import Meta

from stateward.api.kinds.security import SecretName
from stateward.api.values.base import Record

SettingName = Annotated[
    str,
    Meta(
        pattern=r"^[a-zA-Z0-9_][-._a-zA-Z0-9]*$",
        max_length=200,
        extra={"accepts": "must be the name of a setting, for example s3.client.default.access_key"},
    ),
]


class SecureSetting(Record):
    """One key of a Secret."""

    key: Annotated[
        Annotated[
            str,
            Meta(
                pattern=r"^[-._a-zA-Z0-9]+$",
                max_length=253,
                extra={"accepts": "must be a key of the Secret: letters, digits, dashes, dots and underscores"},
            ),
        ],
        Meta(description="Key of the Secret."),
    ]
    setting: Annotated[
        SettingName | None, Meta(description="Name of the setting in the keystore. Default: the key.")
    ] = None


class SecureSettings(Record):
    """A Secret whose content goes into the keystore."""

    secret_name: Annotated[SecretName, Meta(description="Name of the Secret, in the namespace of the cluster.")]
    entries: Annotated[
        Annotated[list[SecureSetting], Meta(min_length=1, max_length=100)] | None,
        Meta(
            description="The keys to use, and the names of their settings. Default: all keys, named like the settings."
        ),
    ] = None


def asked_settings(asked: Sequence[SecureSettings]) -> Iterator[tuple[int, int, SecureSetting]]:
    """Yield the named settings, each with the place of its Secret and its own."""
    for i, source in enumerate(asked):
        for j, entry in enumerate(source.entries or ()):
            yield i, j, entry
