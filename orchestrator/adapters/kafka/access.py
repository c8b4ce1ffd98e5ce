"""A cluster's access rules: reading, adding and removing single ones, and what no rule can touch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
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

from orchestrator.adapters.kafka.client import LATE, cluster_error, logger, translated_errors
from orchestrator.errors import ClusterError
from orchestrator.ports.servers import Authorization
from orchestrator.values import Acl

_TIMEOUT_S = 10.0
# librdkafka keeps the deadline itself; this only guards against it not doing so.
_GRACE_S = 5.0
# Of the time-out, for one try after the other. A broker that hangs answers none of them.
_SHARES = (0.3, 0.3, 0.6)


class AccessRules:
    """The access rules of one cluster, by its operator. Every method raises `ClusterError`.

    Asked twice each says the same, so what is not answered in time is asked again, by a new client:
    librdkafka may have chosen the one broker that hangs, or wait on its connection to one that was restarted.
    """

    def __init__(self, name: str, properties: Mapping[str, Any], *, timeout_s: float = _TIMEOUT_S) -> None:
        self.subject = f"cluster {name}"
        self._timeout_s = timeout_s
        self._properties = dict(properties)
        self._admin = AdminClient(self._properties, logger=logger)

    @property
    def operator(self) -> str:
        """The principal that asks, as `User:name`; empty where no user stands in its settings."""
        user = self._properties.get("sasl.username")
        return f"User:{user}" if user else ""

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
        (found,) = self._asked(
            "reading access rules",
            lambda timeout_s: [self._admin.describe_acls(everything, request_timeout=timeout_s)],
        )
        return frozenset(_rule(binding) for binding in found if wanted is None or binding.principal in wanted)

    def add(self, rules: Iterable[Acl]) -> None:
        """Create rules; those that exist stay."""
        bindings = [AclBinding(*_arguments(rule)) for rule in sorted(rules)]
        if not bindings:
            return
        self._asked(
            "creating access rules",
            lambda timeout_s: self._admin.create_acls(bindings, request_timeout=timeout_s).values(),
        )

    def remove(self, rules: Iterable[Acl]) -> None:
        """Delete exactly these rules; one that is not there is no error."""
        filters = [AclBindingFilter(*_arguments(rule)) for rule in sorted(rules)]
        if not filters:
            return
        self._asked(
            "deleting access rules",
            lambda timeout_s: self._admin.delete_acls(filters, request_timeout=timeout_s).values(),
        )

    def authorization(self, brokers: Sequence[int]) -> Authorization:
        """What the brokers are configured with. Brokers that differ count with all that any of them allows.

        Raises where a broker does not say it: then nobody knows who is above the rules.
        """
        # librdkafka takes one broker a call, because only that broker answers for itself.
        resources = [ConfigResource(ResourceType.BROKER, str(broker)) for broker in brokers]
        authorizers: set[str] = set()
        super_users: set[str] = set()
        is_hidden = False
        for entries in self._asked(
            "asking for its authorizer",
            lambda timeout_s: [
                future
                for resource in resources
                for future in self._admin.describe_configs([resource], request_timeout=timeout_s).values()
            ],
        ):
            authorizers.add(_value(entries, "authorizer.class.name") or "")
            users = _value(entries, "super.users")
            is_hidden = is_hidden or users is None
            super_users |= {user.strip() for user in (users or "").split(";") if user.strip()}
        weakest = "" if "" in authorizers else ", ".join(sorted(authorizers))
        return Authorization(weakest, None if is_hidden else frozenset(super_users))

    def _asked(self, doing: str, ask: Callable[[float], Iterable[Future[Any]]]) -> list[Any]:
        for share in _SHARES[:-1]:
            try:
                return self._answers(doing, ask, self._timeout_s * share)
            except ClusterError as error:
                if error.code not in LATE:
                    raise
            self._admin = AdminClient(self._properties, logger=logger)
        return self._answers(doing, ask, self._timeout_s * _SHARES[-1])

    def _answers(
        self, doing: str, ask: Callable[[float], Iterable[Future[Any]]], timeout_s: float
    ) -> list[Any]:
        with translated_errors(self.subject, doing):
            futures = list(ask(timeout_s))
        try:
            return [future.result(timeout_s + _GRACE_S) for future in futures]
        except KafkaException as error:
            raise cluster_error(self.subject, doing, error.args[0]) from None
        except TimeoutError:
            problem = f"{doing}: no answer within {timeout_s:g} s"
            raise ClusterError(self.subject, problem, code="_TIMED_OUT") from None


def _value(entries: Mapping[str, Any], key: str) -> str | None:
    """Value of a setting: empty where it is not set, None where it is hidden."""
    return "" if key not in entries else entries[key].value


def _arguments(rule: Acl) -> tuple[Any, ...]:
    """Those of a binding, and of the filter that matches it alone."""
    return (
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
