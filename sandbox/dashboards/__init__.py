"""The stand-in for OpenSearch Dashboards and Kibana, whose official images cannot be had here.

`server` is the program in the image: it insists on the documented configuration, logs in to the real database with the
credentials in it, migrates its saved objects there by version, and serves `/api/status`. `image` makes the images, with
the names and directories of the official ones.
"""
