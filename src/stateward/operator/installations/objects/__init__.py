"""The objects of an installation: their place, owner, application and removal."""
