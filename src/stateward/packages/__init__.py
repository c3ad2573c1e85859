"""Packages in the format of `kudo.dev/v1beta1`.

Everything here is pure: files come in as bytes by their path, objects and findings go out.

    format        files, parameters and schemas, with everything that is wrong with them
    rendering     from templates and values to objects, within limits
    restarts      which pods use which data
    plans         which step is next, and when an object is healthy
    review        checks and differences before anything runs
    distribution  archives and OCI artifacts
"""
