"""The tour: the shipped operator upgrades a cluster in a world in memory, live on the terminal and on the page."""
