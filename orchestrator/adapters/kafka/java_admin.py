"""Kafka's own Admin for what librdkafka cannot do, through one Java process for all clusters.

Everything is sent in bulk, and each element has its own answer from Kafka: where some are refused, the
others are done, and the error names the first that was not and how many more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from orchestrator.adapters.kafka.java_admin_bulk import LIST, OBJECT, STRING, Bulk, Make
from orchestrator.adapters.kafka.java_admin_jvm import error_name
from orchestrator.adapters.kafka.java_admin_reading import JavaReader, config_resource
from orchestrator.ports.admin_values import ConfigKind
from orchestrator.values import DEFAULT_OWNER, Acl, QuotaOwner, TopicPartition

_ADMIN = "org.apache.kafka.clients.admin"
_ACL = "org.apache.kafka.common.acl"
_RESOURCE = "org.apache.kafka.common.resource"
# Of an election: the first replica leads already, or is not in sync.
_AS_IT_IS = frozenset({"ElectionNotNeeded", "PreferredLeaderNotAvailable"})


class JavaAdmin(JavaReader):
    """Changes, beside the questions of `JavaReader`. Each takes a deadline in seconds.

    What was sent may have happened when a call fails with `Timeout`: look before doing it again.
    """

    def delete_topics(self, names: Iterable[str], timeout_s: float = 60.0) -> None:
        """Delete topics; one that is not there is no error."""
        wanted = sorted(set(names))
        if not wanted:
            return
        doing = "deleting topics"
        with self._asking(doing) as ask:
            options = ask.options("DeleteTopics", timeout_s)
            result = ask.admin.deleteTopics(ask.bulk.strings(wanted), options)
            outcomes = ask.outcomes(result.topicNameValues(), timeout_s)
        self._raise_first("topic", doing, _errors(outcomes, "UnknownTopicOrPartition"))

    def create_partitions(
        self,
        counts: Mapping[str, int],
        assignments: Mapping[str, Sequence[Sequence[int]]] | None = None,
        timeout_s: float = 60.0,
    ) -> None:
        """Raise topics to so many partitions; `assignments` are the broker ids of the new ones."""
        if not counts:
            return
        doing = "adding partitions"
        rows = [
            [name, count, [list(ids) for ids in (assignments or {}).get(name, ())] or None]
            for name, count in counts.items()
        ]
        with self._asking(doing) as ask:
            bulk, name = ask.bulk, f"{_ADMIN}.NewPartitions"
            entry = bulk.entry(bulk.itself, bulk.static(name, "increaseTo", name, "int", LIST))
            options = ask.options("CreatePartitions", timeout_s)
            result = ask.admin.createPartitions(bulk.mapping(entry, rows), options)
            outcomes = ask.outcomes(result.values(), timeout_s)
        self._raise_first("topic", doing, _errors(outcomes))

    def alter_configs(
        self,
        kind: ConfigKind,
        changes: Mapping[str, Mapping[str, str | None]],
        timeout_s: float = 30.0,
    ) -> None:
        """Set some entries of topics' or brokers' configuration; None takes one back to its default."""
        rows = [
            [kind.upper(), name, key, value, "DELETE" if value is None else "SET"]
            for name, entries in changes.items()
            for key, value in entries.items()
        ]
        if not rows:
            return
        doing = f"changing the configuration of {kind}s"
        with self._asking(doing) as ask:
            bulk, name = ask.bulk, f"{_ADMIN}.AlterConfigOp"
            change = bulk.nested(
                bulk.constructor(name, f"{_ADMIN}.ConfigEntry", f"{name}$OpType"),
                bulk.constructor(f"{_ADMIN}.ConfigEntry", STRING, STRING),
                bulk.constant(f"{name}$OpType"),
            )
            requests = bulk.grouped(bulk.entry(config_resource(bulk), change), rows)
            options = ask.options("AlterConfigs", timeout_s)
            result = ask.admin.incrementalAlterConfigs(requests, options)
            outcomes = ask.outcomes(result.values(), timeout_s)
        errors = {key.partition("name='")[2].removesuffix("')"): e for key, e in _errors(outcomes).items()}
        self._raise_first(kind, doing, errors)

    def alter_quotas(
        self, changes: Mapping[QuotaOwner, Mapping[str, float | None]], timeout_s: float = 30.0
    ) -> None:
        """Set client quotas of users and client ids; None takes one away. Other keys of theirs stay."""
        if not changes:
            return
        doing = "changing client quotas"
        with self._asking(doing) as ask:
            quota = ask.common.quota
            asked = ask.java.java.util.ArrayList()
            for owner, limits in changes.items():
                entries = ask.java.java.util.HashMap()
                for kind, name in (("user", owner.user), ("client-id", owner.client_id)):
                    if name is not None:
                        entries.put(kind, None if name == DEFAULT_OWNER else name)
                operations = ask.java.java.util.ArrayList()
                for key, limit in limits.items():
                    number = None if limit is None else float(limit)
                    operations.add(quota.ClientQuotaAlteration.Op(key, number))
                asked.add(quota.ClientQuotaAlteration(quota.ClientQuotaEntity(entries), operations))
            result = ask.admin.alterClientQuotas(asked, ask.options("AlterClientQuotas", timeout_s))
            outcomes = ask.outcomes(result.values(), timeout_s)
        self._raise_first("quota", doing, _errors(outcomes))

    def alter_reassignments(
        self, moves: Mapping[TopicPartition, Sequence[int] | None], timeout_s: float = 60.0
    ) -> None:
        """Begin to move partitions to these brokers; None calls off a move that is under way.

        Kafka copies in the background: `list_reassignments` tells what is left. Calling off what is not
        under way is no error. Placement is not checked by Kafka.
        """
        if not moves:
            return
        doing = "moving partitions"
        begun = [[*tp, list(ids)] for tp, ids in sorted(moves.items()) if ids is not None]
        called_off = [[*tp, None] for tp, ids in sorted(moves.items()) if ids is None]
        with self._asking(doing) as ask:
            bulk, optional = ask.bulk, "java.util.Optional"
            some = bulk.nested(
                bulk.static(optional, "of", optional, OBJECT),
                bulk.constructor(f"{_ADMIN}.NewPartitionReassignment", LIST),
            )
            nothing = bulk.same(ask.java.java.util.Optional.empty())
            requests = bulk.mapping(bulk.entry(bulk.partition, some), begun)
            requests.putAll(bulk.mapping(bulk.entry(bulk.partition, nothing), called_off))
            options = ask.options("AlterPartitionReassignments", timeout_s)
            result = ask.admin.alterPartitionReassignments(requests, options)
            outcomes = ask.outcomes(result.values(), timeout_s)
        self._raise_first("partition", doing, _errors(outcomes, "NoReassignmentInProgress"))

    def elect_preferred(self, partitions: Iterable[TopicPartition], timeout_s: float = 30.0) -> None:
        """Let the first replica of each partition lead; one that leads, or is not in sync, is no error."""
        self._elect("PREFERRED", partitions, "electing preferred leaders", timeout_s)

    def elect_unclean(self, partitions: Iterable[TopicPartition], timeout_s: float = 30.0) -> None:
        """Let the first replica that is up lead each partition without a leader, whatever it lacks."""
        self._elect("UNCLEAN", partitions, "electing unclean leaders", timeout_s)

    def _elect(
        self, kind_name: str, partitions: Iterable[TopicPartition], doing: str, timeout_s: float
    ) -> None:
        wanted = sorted(set(partitions))
        if not wanted:
            return
        with self._asking(doing) as ask:
            asked = ask.java.java.util.HashSet(ask.bulk.objects(ask.bulk.partition, wanted))
            kind, options = (
                getattr(ask.common.ElectionType, kind_name),
                ask.options("ElectLeaders", timeout_s),
            )
            found = ask.answer(ask.admin.electLeaders(kind, asked, options).partitions(), timeout_s)
        # Each is an `Optional` of an error, as Java writes it.
        errors = {
            key: text.removeprefix("Optional[").removesuffix("]")
            for key, text in found.items()
            if text != "Optional.empty"
        }
        self._raise_first(
            "partition", doing, {k: e for k, e in errors.items() if error_name(e) not in _AS_IT_IS}
        )

    def remove_voter(self, number: int, directory_id: str, timeout_s: float = 30.0) -> None:
        """Take one controller out of a dynamic KRaft quorum, which has to live. Kafka takes one at a time."""
        doing = f"removing controller {number} from the voters"
        with self._asking(doing) as ask:
            options = ask.options("RemoveRaftVoter", timeout_s)
            directory = ask.common.Uuid.fromString(directory_id)
            ask.answer(ask.admin.removeRaftVoter(number, directory, options).all(), timeout_s)

    def add_voter(
        self, number: int, directory_id: str, endpoints: Iterable[str], timeout_s: float = 30.0
    ) -> None:
        """Let one controller vote that follows already; `endpoints` are its `LISTENER://host:port`."""
        doing = f"adding controller {number} to the voters"
        with self._asking(doing) as ask:
            told = ask.java.java.util.HashSet()
            for endpoint in endpoints:
                listener, _, address = endpoint.partition("://")
                host, _, port = address.rpartition(":")
                told.add(ask.classes.RaftVoterEndpoint(listener, host, int(port)))
            options = ask.options("AddRaftVoter", timeout_s)
            directory = ask.common.Uuid.fromString(directory_id)
            ask.answer(ask.admin.addRaftVoter(number, directory, told, options).all(), timeout_s)

    def create_acls(self, rules: Iterable[Acl], timeout_s: float = 30.0) -> None:
        """Create access rules; those that exist stay."""
        self._change_acls(rules, "creating ACLs", is_deleting=False, timeout_s=timeout_s)

    def delete_acls(self, rules: Iterable[Acl], timeout_s: float = 30.0) -> None:
        """Delete exactly these access rules; one that is not there is no error."""
        self._change_acls(rules, "deleting ACLs", is_deleting=True, timeout_s=timeout_s)

    def _change_acls(self, rules: Iterable[Acl], doing: str, *, is_deleting: bool, timeout_s: float) -> None:
        rows = [
            [
                rule.resource_type,
                rule.resource_name,
                rule.pattern,
                rule.principal,
                rule.host,
                rule.operation,
                rule.permission,
            ]
            for rule in sorted(set(rules))
        ]
        if not rows:
            return
        with self._asking(doing) as ask:
            requests = ask.bulk.objects(_acl_rule(ask.bulk, "Filter" if is_deleting else ""), rows)
            if is_deleting:
                result = ask.admin.deleteAcls(requests, ask.options("DeleteAcls", timeout_s))
            else:
                result = ask.admin.createAcls(requests, ask.options("CreateAcls", timeout_s))
            outcomes = ask.outcomes(result.values(), timeout_s)
        self._raise_first("rule", doing, _errors(outcomes))


def _acl_rule(bulk: Bulk, kind: str) -> Make:
    """An `AclBinding`, or with `Filter` what matches exactly one."""
    pattern, entry = f"{_RESOURCE}.ResourcePattern{kind}", f"{_ACL}.AccessControlEntry{kind}"
    resource_type, pattern_type = f"{_RESOURCE}.ResourceType", f"{_RESOURCE}.PatternType"
    operation, permission = f"{_ACL}.AclOperation", f"{_ACL}.AclPermissionType"
    return bulk.nested(
        bulk.constructor(f"{_ACL}.AclBinding{kind}", pattern, entry),
        bulk.nested(
            bulk.constructor(pattern, resource_type, STRING, pattern_type),
            bulk.constant(resource_type),
            None,
            bulk.constant(pattern_type),
        ),
        bulk.nested(
            bulk.constructor(entry, STRING, STRING, operation, permission),
            None,
            None,
            bulk.constant(operation),
            bulk.constant(permission),
        ),
    )


def _errors(outcomes: Mapping[str, Any], *harmless: str) -> dict[str, str]:
    """Those that were refused, and why."""
    return {
        key: outcome.error
        for key, outcome in outcomes.items()
        if outcome.error and error_name(outcome.error) not in harmless
    }
