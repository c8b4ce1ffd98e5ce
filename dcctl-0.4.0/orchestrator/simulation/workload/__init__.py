"""The applications of a simulation: producers, consumers and Spark queries that keep ledgers."""
