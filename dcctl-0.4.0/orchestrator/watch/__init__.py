"""The watcher: keeps at the surviving side what a failover will need."""
