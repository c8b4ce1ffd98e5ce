"""What proves what a move did: ledgers, their comparison on Spark, verdicts, reports, canaries."""
