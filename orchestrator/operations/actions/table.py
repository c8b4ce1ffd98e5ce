"""The actions of moving applications from one side of a mirror to the other, by their names in a plan."""

from __future__ import annotations

from orchestrator.moves.fence import FENCE_EFFECTS
from orchestrator.operations.actions.clients import (
    await_group_progress,
    start_clients,
    start_clients_again,
    stop_clients,
)
from orchestrator.operations.actions.draining import await_drained
from orchestrator.operations.actions.first_writes import await_landing_records
from orchestrator.operations.actions.guards import await_guards, record_primary_unless_back
from orchestrator.operations.actions.leaving import (
    copy_left_checkpoint,
    drain_left,
    record_left_positions,
    start_left_clients_again,
    stop_left_clients,
)
from orchestrator.operations.actions.leaving_rules import (
    deny_left,
    left_rules_are_back,
    record_left_rules,
    rules_are_in_force_where_it_answers,
    take_left_rules_back,
)
from orchestrator.operations.actions.left_logs import record_landing, record_left
from orchestrator.operations.actions.left_standing import await_left_standing
from orchestrator.operations.actions.loss_account import account_left
from orchestrator.operations.actions.mirror import (
    await_standstill,
    connectors_are_stopped,
    connectors_run,
    name_written_early,
    record_ends,
    record_mirror_end,
    resume_connectors,
    stop_connectors,
)
from orchestrator.operations.actions.positions import (
    offsets_are_restored,
    offsets_are_written,
    record_positions,
    restore_offsets,
    save_offsets,
    translate_left_positions,
    translate_positions,
    translate_recorded_positions,
    write_offsets,
)
from orchestrator.operations.actions.primary import (
    forget_primary,
    primary_is_forgotten,
    primary_is_recorded,
    record_primary,
)
from orchestrator.operations.actions.queries import (
    await_query_progress,
    copy_query_checkpoint,
    relocate_query,
    undo_query_relocation,
)
from orchestrator.operations.actions.tables import ActionTable
from orchestrator.operations.session import Session

MOVE_TABLE: ActionTable[Session] = ActionTable(
    effects=FENCE_EFFECTS,
    perform={
        "await-standstill": await_standstill,
        "stop-connectors": stop_connectors,
        "record-ends": record_ends,
        "record-landing": record_landing,
        "record-left": record_left,
        "record-primary": record_primary,
        "record-primary-unless-back": record_primary_unless_back,
        "await-guards": await_guards,
        "record-mirror-end": record_mirror_end,
        "save-offsets": save_offsets,
        "translate-positions": translate_positions,
        "write-offsets": write_offsets,
        "start-clients": start_clients,
        "stop-clients": stop_clients,
        "await-drained": await_drained,
        "record-positions": record_positions,
        "translate-recorded-positions": translate_recorded_positions,
        "copy-checkpoint": copy_query_checkpoint,
        "await-landing-records": await_landing_records,
        "await-group-progress": await_group_progress,
        "relocate-checkpoint": relocate_query,
        "await-query-progress": await_query_progress,
        "stop-left-clients": stop_left_clients,
        "record-left-rules": record_left_rules,
        "deny-left": deny_left,
        "await-left-standing": await_left_standing,
        "drain-left": drain_left,
        "record-left-positions": record_left_positions,
        "translate-left-positions": translate_left_positions,
        "copy-left-checkpoint": copy_left_checkpoint,
        "account-left": account_left,
    },
    verify={
        "connectors-are-stopped": connectors_are_stopped,
        "connectors-run": connectors_run,
        "offsets-are-written": offsets_are_written,
        "primary-is-recorded": primary_is_recorded,
        "rules-are-in-force-where-it-answers": rules_are_in_force_where_it_answers,
    },
    compensate={
        "take-left-rules-back": take_left_rules_back,
        "resume-connectors": resume_connectors,
        "name-written-early": name_written_early,
        "start-clients-again": start_clients_again,
        "start-left-clients-again": start_left_clients_again,
        "restore-offsets": restore_offsets,
        "forget-primary": forget_primary,
        "undo-relocation": undo_query_relocation,
    },
    verify_undone={
        "left-rules-are-back": left_rules_are_back,
        "connectors-run": connectors_run,
        "offsets-are-restored": offsets_are_restored,
        "primary-is-forgotten": primary_is_forgotten,
    },
)
