"""The actions of an apply, by their names in a plan."""

from __future__ import annotations

from orchestrator.moves.hooks import HOOK_EFFECTS
from orchestrator.operations.layout.actions.access import (
    create_acls,
    delete_acls,
    rules_are_gone,
    rules_are_there,
)
from orchestrator.operations.layout.actions.connectors import (
    configure_connectors,
    connectors_are_gone,
    connectors_run,
    delete_connectors,
    restart_connectors,
    resume_connectors,
)
from orchestrator.operations.layout.actions.record import record_applied
from orchestrator.operations.layout.actions.replicas import (
    move_replicas,
    move_replicas_back,
    replicas_are_back,
    replicas_have_moved,
)
from orchestrator.operations.layout.actions.tables import ActionTable
from orchestrator.operations.layout.actions.topics import (
    add_partitions,
    config_is_restored,
    config_is_set,
    create_topics,
    delete_empty_topics,
    delete_topics,
    partitions_are_there,
    restore_config,
    set_config,
    topics_are_gone,
    topics_are_there,
)
from orchestrator.operations.layout.session import LayoutSession

LAYOUT_TABLE: ActionTable[LayoutSession] = ActionTable(
    effects=HOOK_EFFECTS,
    perform={
        "create-topics": create_topics,
        "delete-topics": delete_topics,
        "set-config": set_config,
        "add-partitions": add_partitions,
        "move-replicas": move_replicas,
        "create-acls": create_acls,
        "delete-acls": delete_acls,
        "create-connectors": configure_connectors,
        "configure-connectors": configure_connectors,
        "resume-connectors": resume_connectors,
        "restart-connectors": restart_connectors,
        "delete-connectors": delete_connectors,
        "record-applied": record_applied,
    },
    verify={
        "topics-are-there": topics_are_there,
        "topics-are-gone": topics_are_gone,
        "config-is-set": config_is_set,
        "partitions-are-there": partitions_are_there,
        "replicas-have-moved": replicas_have_moved,
        "rules-are-there": rules_are_there,
        "rules-are-gone": rules_are_gone,
        "connectors-run": connectors_run,
        "connectors-are-gone": connectors_are_gone,
    },
    compensate={
        "delete-empty-topics": delete_empty_topics,
        "restore-config": restore_config,
        "move-replicas-back": move_replicas_back,
        "create-acls": create_acls,
        "delete-acls": delete_acls,
        "delete-connectors": delete_connectors,
    },
    verify_undone={
        "topics-are-gone": topics_are_gone,
        "config-is-restored": config_is_restored,
        "replicas-are-back": replicas_are_back,
        "rules-are-there": rules_are_there,
        "rules-are-gone": rules_are_gone,
        "connectors-are-gone": connectors_are_gone,
    },
)
