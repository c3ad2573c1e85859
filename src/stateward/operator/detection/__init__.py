"""Finding missing members without events: a CronJob for each managed cluster."""
