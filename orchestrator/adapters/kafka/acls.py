"""Access rules as values, and what confluent-kafka makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)

Operation = Literal[
    "READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE", "DESCRIBE_CONFIGS", "ALTER_CONFIGS"
]


class Acl(NamedTuple):
    """One rule for one principal ("User:x") and several operations, from any host.

    `name` is the resource's name, or its beginning with `is_prefix`; "*" is every one. A cluster's
    name is always "kafka-cluster".
    """

    principal: str
    resource: Literal["TOPIC", "GROUP", "CLUSTER"]
    name: str
    operations: tuple[Operation, ...]
    is_prefix: bool = False
    is_denied: bool = False


def acl_bindings(acls: Sequence[Acl]) -> list[AclBinding]:
    """One binding for each operation of each rule, without repetitions."""
    bindings = {
        (acl.resource, acl.name, acl.is_prefix, acl.principal, operation, acl.is_denied): None
        for acl in acls
        for operation in acl.operations
    }
    return [
        AclBinding(
            {"TOPIC": ResourceType.TOPIC, "GROUP": ResourceType.GROUP, "CLUSTER": ResourceType.BROKER}[
                resource
            ],
            name,
            ResourcePatternType.PREFIXED if is_prefix else ResourcePatternType.LITERAL,
            principal,
            "*",
            AclOperation[operation],
            AclPermissionType.DENY if is_denied else AclPermissionType.ALLOW,
        )
        for resource, name, is_prefix, principal, operation, is_denied in bindings
    ]
