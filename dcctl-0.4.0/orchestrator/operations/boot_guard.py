"""The boot guard under its name of version 0.2.0: units of brokers that start it by that still do."""

from __future__ import annotations

import sys

from orchestrator.guards.live.boot_guard import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
