"""All metrics of all databases, for the reference."""

from stateward.exporter.foundationdb import catalog as foundationdb
from stateward.exporter.metric import BUILD, DURATION, UP
from stateward.exporter.search import catalog as search

COMMON = (UP, DURATION, BUILD)
SEARCH = search.METRICS
FOUNDATIONDB = foundationdb.METRICS
