"""Runs a plan: lock, gates, journal. Knows no Kafka; touches the world only through its ports."""
