"""How FoundationDB is read: `catalog` has all metrics, `translation` is pure, `answers` reads what `fdbcli` printed."""
