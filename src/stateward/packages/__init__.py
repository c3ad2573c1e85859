"""Packages: an application as templates, parameters and plans, in the format of `kudo.dev/v1beta1` folders.

Everything here is pure: files come in as bytes by their path, objects and findings go out. `reading` makes a `Package`
of files, `checks` says what is wrong with it, `parameters` what values it accepts, `rendering` what objects it makes.
"""
