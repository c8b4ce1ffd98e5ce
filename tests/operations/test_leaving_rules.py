"""Denying at a sick site: only what a broker has told counts as heard."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Literal, Self

import pytest

from orchestrator.adapters.kafka.quorum import QuorumMember, QuorumState
from orchestrator.moves.left_rules import DenyLeft
from orchestrator.moves.effects import MOVE_EFFECTS
from orchestrator.moves.plans import plan_sick_failover
from orchestrator.moves.ports import LeftClusters
from orchestrator.moves.results import RulesFound
from orchestrator.values import Acl
from tests.operations.some_moves import WithPorts, a_session, verified
from tests.operations.some_servers import PassingClock, SomeServers
from tests.planning.sick_pictures import FILE, REQUEST, picture
