"""Plug-ins of members: which files a version needs, and the containers that install them before the database starts.

Input: a resolved pool and a version. Output: init containers, volumes and inputs of a pod. Pure; `install.sh` runs in
the pod.
"""
