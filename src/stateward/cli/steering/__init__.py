"""Commands that control a cluster: restart, stop and start, replace and keep, pause and resume, detect."""
