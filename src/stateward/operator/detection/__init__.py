"""Finding missing members without depending on events: a CronJob for each cluster that is looked after."""
