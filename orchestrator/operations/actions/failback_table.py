"""The actions of a failback by their names in a plan: those of any move, and its own."""

from __future__ import annotations

from orchestrator.operations.actions.landing import close_reverse_map
from orchestrator.operations.actions.mirror import connectors_are_stopped, resume_connectors
from orchestrator.operations.actions.positions_back import (
    back_is_written,
    record_forward_end,
    translate_back,
    write_back,
)
from orchestrator.operations.actions.queries import relocate_back
from orchestrator.operations.actions.returning import (
    await_caught_up,
    await_open,
    await_tail,
    compare_returned_logs,
    create_reverse,
    mirror_offsets_are_set,
    prepare_reverse,
    reverse_exists,
    reverse_offsets_are_set,
    set_mirror_offsets,
    set_reverse_offsets,
)
from orchestrator.operations.actions.table import MOVE_TABLE
from orchestrator.operations.actions.tables import ActionTable
from orchestrator.operations.failback_session import FailbackSession

FAILBACK_TABLE: ActionTable[FailbackSession] = ActionTable(
    effects=MOVE_TABLE.effects,
    perform={
        **MOVE_TABLE.perform,
        "await-open": await_open,
        "compare-returned": compare_returned_logs,
        "set-mirror-offsets": set_mirror_offsets,
        "resume-connectors": resume_connectors,
        "await-tail": await_tail,
        "prepare-reverse": prepare_reverse,
        "create-reverse": create_reverse,
        "set-reverse-offsets": set_reverse_offsets,
        "await-caught-up": await_caught_up,
        "record-forward-end": record_forward_end,
        "close-reverse-map": close_reverse_map,
        "translate-back": translate_back,
        "write-back": write_back,
        "relocate-checkpoint": relocate_back,
    },
    verify={
        **MOVE_TABLE.verify,
        "mirror-offsets-are-set": mirror_offsets_are_set,
        "reverse-exists": reverse_exists,
        "reverse-offsets-are-set": reverse_offsets_are_set,
        "back-is-written": back_is_written,
    },
    compensate={**MOVE_TABLE.compensate},
    verify_undone={**MOVE_TABLE.verify_undone, "connectors-are-stopped": connectors_are_stopped},
)
