"""Storms in which users declare objects of the database."""
