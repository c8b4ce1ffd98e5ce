"""What clusters shall hold and what they hold, as data: topics, access rules, connectors, placement."""
