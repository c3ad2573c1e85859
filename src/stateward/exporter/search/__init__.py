"""How search clusters are read: `catalog` has all metrics, `translation` is pure, `questions` asks over HTTP."""
