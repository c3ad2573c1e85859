"""Finding missing members without depending on events: a CronJob for each managed cluster."""
