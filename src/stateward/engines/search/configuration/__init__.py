"""The configuration of search members: settings, security and the keystore."""
