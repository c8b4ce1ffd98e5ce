"""A cluster's access rules: reading, adding and removing single ones, and what no rule can touch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ConfigResource,
    ResourcePatternType,
    ResourceType,
)

from orchestrator.adapters.kafka.client import cluster_error, logger, translated_errors
from orchestrator.errors import ClusterError
from orchestrator.values import Acl

_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class Authorization:
    """How a cluster decides who may do what: its authorizer (empty for none), and who is above all rules.

    `super_users` is None where no broker says it: Kafka hides the values of settings that belong to
    plug-ins, and `super.users` is the authorizer's.
    """

    authorizer: str
    super_users: frozenset[str] | None


class AccessRules:
    """The access rules of one cluster, by its operator. Every method raises `ClusterError`."""

    def __init__(self, name: str, properties: Mapping[str, Any], *, timeout_s: float = _TIMEOUT_S) -> None:
        self._subject = f"cluster {name}"
        self._timeout_s = timeout_s
        self._admin = AdminClient(dict(properties), logger=logger)

    def rules(self, principals: Iterable[str] | None = None) -> frozenset[Acl]:
        """Every rule, or those of some principals."""
        wanted = None if principals is None else set(principals)
        everything = AclBindingFilter(
            ResourceType.ANY,
            None,
            ResourcePatternType.ANY,
            None,
            None,
            AclOperation.ANY,
            AclPermissionType.ANY,
        )
        doing = "reading access rules"
        with translated_errors(self._subject, doing):
            future = self._admin.describe_acls(everything, request_timeout=self._timeout_s)
        found = self._result(future, doing)
        return frozenset(_rule(binding) for binding in found if wanted is None or binding.principal in wanted)

    def add(self, rules: Iterable[Acl]) -> None:
        """Create rules; those that exist stay."""
        bindings = [_binding(rule) for rule in sorted(rules)]
        if not bindings:
            return
        doing = "creating access rules"
        with translated_errors(self._subject, doing):
            futures = self._admin.create_acls(bindings, request_timeout=self._timeout_s)
        self._each(futures, doing)

    def remove(self, rules: Iterable[Acl]) -> None:
        """Delete exactly these rules; one that is not there is no error."""
        filters = [_exactly(_binding(rule)) for rule in sorted(rules)]
        if not filters:
            return
        doing = "deleting access rules"
        with translated_errors(self._subject, doing):
            futures = self._admin.delete_acls(filters, request_timeout=self._timeout_s)
        self._each(futures, doing)

    def authorization(self, brokers: Sequence[int]) -> Authorization:
        """What the brokers are configured with. Brokers that differ count with all that any of them allows.

        Raises where a broker does not say it: then nobody knows who is above the rules.
        """
        doing = "asking for its authorizer"
        futures: list[Future[Any]] = []
        with translated_errors(self._subject, doing):
            for broker in brokers:
                # librdkafka takes one broker a call, because only that broker answers for itself.
                resource = ConfigResource(ResourceType.BROKER, str(broker))
                futures += self._admin.describe_configs([resource], request_timeout=self._timeout_s).values()
        authorizers: set[str] = set()
        super_users: set[str] = set()
        is_hidden = False
        for future in futures:
            entries = self._result(future, doing)
            authorizers.add(_value(entries, "authorizer.class.name") or "")
            users = _value(entries, "super.users")
            is_hidden = is_hidden or users is None
            super_users |= {user.strip() for user in (users or "").split(";") if user.strip()}
        weakest = "" if "" in authorizers else ", ".join(sorted(authorizers))
        return Authorization(weakest, None if is_hidden else frozenset(super_users))

    def _each(self, futures: Mapping[Any, Future[Any]], doing: str) -> None:
        for future in futures.values():
            self._result(future, doing)

    def _result(self, future: Future[Any], doing: str) -> Any:
        try:
            return future.result(self._timeout_s + 5)
        except KafkaException as error:
            raise cluster_error(self._subject, doing, error.args[0]) from None
        except TimeoutError:
            raise ClusterError(self._subject, f"{doing}: no answer within {self._timeout_s:g} s") from None


def _value(entries: Mapping[str, Any], key: str) -> str | None:
    """Value of a setting: empty where it is not set, None where it is hidden."""
    return "" if key not in entries else entries[key].value


def _binding(rule: Acl) -> AclBinding:
    return AclBinding(
        # librdkafka has no type of its own for the cluster: its number is that of a broker.
        ResourceType.BROKER if rule.resource_type == "CLUSTER" else ResourceType[rule.resource_type],
        rule.resource_name,
        ResourcePatternType[rule.pattern],
        rule.principal,
        rule.host,
        AclOperation[rule.operation],
        AclPermissionType[rule.permission],
    )


def _rule(binding: AclBinding) -> Acl:
    kind = "CLUSTER" if binding.restype == ResourceType.BROKER else binding.restype.name
    return Acl(
        principal=binding.principal,
        operation=binding.operation.name,
        permission=binding.permission_type.name,
        resource_type=kind,
        resource_name=binding.name,
        pattern=binding.resource_pattern_type.name,
        host=binding.host,
    )


def _exactly(binding: AclBinding) -> AclBindingFilter:
    return AclBindingFilter(
        binding.restype,
        binding.name,
        binding.resource_pattern_type,
        binding.principal,
        binding.host,
        binding.operation,
        binding.permission_type,
    )
