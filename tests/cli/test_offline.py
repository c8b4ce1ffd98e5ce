"""What needs no cluster answers at once: nothing is imported for it that talks to one, or counts, or draws."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "topologies").glob("*.yaml"))
_SLOW_IMPORTS = {
    "ansible_runner",
    "confluent_kafka",
    "httpx",
    "jinja2",
    "kazoo",
    "networkx",
    "numpy",
    "py4j",
    "pyarrow",
    "pyspark",
}
_LIMIT_CPU_S = 1.0
_PROGRAM = """
import json, sys, time
from orchestrator.cli.main import run
took_s = []
for file in sys.argv[2:]:
    assert run([sys.argv[1], file]) == 0, file
    took_s.append(time.process_time() - sum(took_s))
sys.stderr.write("\\n" + json.dumps({"cpu_s": took_s, "modules": list(sys.modules)}))
"""


@pytest.mark.parametrize("command", ["validate", "explain", "graph"])
def test_an_offline_command_answers_within_a_second(command: str) -> None:
    """Every example; the first answer has the start of Python and all imports in it."""
    words = [sys.executable, "-c", _PROGRAM, command, *map(str, EXAMPLES)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    seen = json.loads(done.stderr.splitlines()[-1])
    assert len(seen["cpu_s"]) == len(EXAMPLES) >= 10
    assert max(seen["cpu_s"]) < _LIMIT_CPU_S, seen["cpu_s"]
    assert not {name.partition(".")[0] for name in seen["modules"]} & _SLOW_IMPORTS
