"""Whole collections between Python and Java in one call each, with nothing but classes that are there.

A call through py4j costs 0.1 to 0.2 ms, so 100,000 partitions must not be built or read one by one. Text is
what crosses quickly: Jackson, which Kafka brings along, reads and writes it. Kafka's values have no
constructors that Jackson could find by itself, so rows of their arguments are mapped over method handles
(`java.lang.invoke`), as a lambda would do it in Java. 100,000 partitions take about a second each way.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from py4j.java_gateway import JavaGateway
from py4j.protocol import Py4JJavaError

OBJECT = "java.lang.Object"
STRING = "java.lang.String"
LIST = "java.util.List"

_PRIMITIVES = {
    "boolean": "java.lang.Boolean",
    "short": "java.lang.Short",
    "int": "java.lang.Integer",
    "long": "java.lang.Long",
    "void": "java.lang.Void",
}
# Fields that nobody here reads; they would be most of the text.
_LEFT_OUT = {
    "org.apache.kafka.common.Node": ("idString", "hash", "isFenced"),
    "org.apache.kafka.clients.admin.TopicDescription": ("authorizedOperations",),
    "org.apache.kafka.clients.admin.ConfigEntry": (
        "isReadOnly",
        "isSensitive",
        "synonyms",
        "type",
        "documentation",
    ),
}
_AS_TEXT = (
    "java.lang.Throwable",
    "org.apache.kafka.common.TopicPartition",
    "org.apache.kafka.common.Uuid",
    "java.util.Optional",
)


@dataclass(frozen=True, slots=True)
class Make:
    """How to make a Java value from `arity` plain ones: a method handle that takes and returns objects."""

    handle: Any
    arity: int


class Outcome(NamedTuple):
    """What became of one of many: its plain value, or Kafka's reason why there is none."""

    value: Any
    error: str | None


class Bulk:
    """The tools for one Java process."""

    def __init__(self, gateway: JavaGateway) -> None:
        self._gateway = gateway
        jvm = self._jvm = gateway.jvm
        self._handles = jvm.java.lang.invoke.MethodHandles
        self._method_type = jvm.java.lang.invoke.MethodType.methodType
        self._generic = jvm.java.lang.invoke.MethodType.genericMethodType
        self._as_interface = jvm.java.lang.invoke.MethodHandleProxies.asInterfaceInstance
        self._lookup = self._handles.publicLookup()
        self._reader = jvm.com.fasterxml.jackson.databind.ObjectMapper()
        self._writer = self._new_writer()
        self._rows_type = self._reader.getTypeFactory().constructCollectionType(
            self._class("java.util.ArrayList"), self._class("[Ljava.lang.Object;")
        )
        self._strings_type = self._type("java.util.List<java.lang.String>")
        self.partition = self.constructor("org.apache.kafka.common.TopicPartition", STRING, "int")
        self._entry = self.constructor("java.util.AbstractMap$SimpleEntry", OBJECT, OBJECT)
        self._key = self.function(self.method("java.util.Map$Entry", "getKey", OBJECT))
        self._value = self.function(self.method("java.util.Map$Entry", "getValue", OBJECT))
        identity = self._handles.identity(self._class(OBJECT))
        self.itself = Make(identity, 1)
        self._settle = self._settling()

    def constructor(self, name: str, *types: str) -> Make:
        """Make `new name(…)`; the types are those of its parameters, by their full names."""
        kind = self._method_type(self._class("void"), self._classes(types))
        return self._make(self._lookup.findConstructor(self._class(name), kind), len(types))

    def static(self, name: str, method: str, returns: str, *types: str) -> Make:
        """Make what a static method returns."""
        kind = self._method_type(self._class(returns), self._classes(types))
        return self._make(self._lookup.findStatic(self._class(name), method, kind), len(types))

    def method(self, name: str, method: str, returns: str, *types: str) -> Make:
        """Make what a method returns; the value that it is called on comes first."""
        kind = self._method_type(self._class(returns), self._classes(types))
        return self._make(self._lookup.findVirtual(self._class(name), method, kind), len(types) + 1)

    def constant(self, name: str) -> Make:
        """Make a constant of an enumeration from its name."""
        return self.static(name, "valueOf", name, STRING)

    def bound(self, make: Make, instance: Any) -> Make:
        """The same method, called on `instance` always."""
        return Make(make.handle.bindTo(instance), make.arity - 1)

    def same(self, instance: Any) -> Make:
        """Make `instance` of anything."""
        always = self._handles.constant(self._class(OBJECT), instance)
        return Make(self._handles.dropArguments(always, 0, self._classes((OBJECT,))), 1)

    def nested(self, outer: Make, *inner: Make | None) -> Make:
        """Make `outer` from what `inner` makes; None stands for an argument taken as it is."""
        handle, arity, position = outer.handle, 0, 0
        for part in inner:
            if part is not None:
                handle = self._handles.collectArguments(handle, position, part.handle)
            width = 1 if part is None else part.arity
            position += width
            arity += width
        return Make(handle, arity)

    def entry(self, key: Make, value: Make) -> Make:
        """Make one entry of a mapping."""
        return self.nested(self._entry, key, value)

    def function(self, make: Make) -> Any:
        """A `java.util.function.Function` of a value with one argument."""
        return self._as_interface(self._class("java.util.function.Function"), make.handle)

    def strings(self, values: Iterable[str]) -> Any:
        """A Java list of strings."""
        return self._reader.readValue(json.dumps(list(values)), self._strings_type)

    def numbers(self, values: Iterable[int]) -> Any:
        """A Java list of integers."""
        return self._reader.readValue(
            json.dumps(list(values)), self._type("java.util.List<java.lang.Integer>")
        )

    def objects(self, make: Make, rows: Iterable[Sequence[Any]]) -> Any:
        """A Java list with one value for each row of plain arguments."""
        return self._made(make, rows).collect(self._jvm.java.util.stream.Collectors.toList())

    def mapping(self, entry: Make, rows: Iterable[Sequence[Any]]) -> Any:
        """A Java map with one entry for each row."""
        to_map = self._jvm.java.util.stream.Collectors.toMap(self._key, self._value)
        return self._made(entry, rows).collect(to_map)

    def grouped(self, entry: Make, rows: Iterable[Sequence[Any]]) -> Any:
        """A Java map from each key to the list of its values."""
        collectors = self._jvm.java.util.stream.Collectors
        values = collectors.mapping(self._value, collectors.toList())
        return self._made(entry, rows).collect(collectors.groupingBy(self._key, values))

    def by_key(self, keys: Any, value: Make) -> Any:
        """A Java map from each of a Java collection's elements to what `value` makes of it."""
        jvm = self._jvm
        same = jvm.java.util.function.Function.identity()
        return keys.stream().collect(jvm.java.util.stream.Collectors.toMap(same, self.function(value)))

    def plain(self, value: Any) -> Any:
        """A Java value as Python has it: fields become keys; those of `_AS_TEXT` become text."""
        return json.loads(self._writer.writeValueAsString(value))

    def outcomes(self, futures: Any, wait_ms: int, late: str) -> dict[str, Outcome]:
        """What became of each of a map of `KafkaFuture`s, by the text of its key.

        Waits for `wait_ms` at most; what is still under way then has `late` as its error.
        """
        jvm = self._jvm
        asked = jvm.java.util.HashMap(futures)
        # py4j has made `values` Python's own, and takes no array for one of a wider type.
        waiting = asked.entrySet().stream().map(self._value).toArray()
        futures_class = self._class("[Lorg.apache.kafka.common.KafkaFuture;")
        typed = jvm.java.util.Arrays.copyOf(waiting, len(waiting), futures_class)
        everything = jvm.org.apache.kafka.common.KafkaFuture.allOf(typed)
        with suppress(Py4JJavaError):  # one of them failed, or time is up: each says so itself
            everything.get(wait_ms, jvm.java.util.concurrent.TimeUnit.MILLISECONDS)
        asked.replaceAll(self._settle)
        return {
            str(key): Outcome(*pair) if pair is not None else Outcome(None, late)
            for key, pair in self.plain(asked).items()
        }

    def _made(self, make: Make, rows: Iterable[Sequence[Any]]) -> Any:
        given = self._reader.readValue(json.dumps([list(row) for row in rows]), self._rows_type)
        spread = make.handle.asSpreader(self._class("[Ljava.lang.Object;"), make.arity)
        return given.stream().map(self.function(Make(spread.asType(self._generic(1)), 1)))

    def _make(self, handle: Any, arity: int) -> Make:
        # Explicit casting: a number of Jackson's becomes the short or long that a parameter wants.
        return Make(self._handles.explicitCastArguments(handle, self._generic(arity)), arity)

    def _settling(self) -> Any:
        """`(key, future) -> [value, error] once it is done, null before`, as a BiFunction."""
        future, stage = "org.apache.kafka.common.KafkaFuture", "java.util.concurrent.CompletionStage"
        pair = self._lookup.findStatic(
            self._class("java.util.Arrays"),
            "asList",
            self._method_type(self._class(LIST), self._classes(("[Ljava.lang.Object;",))),
        ).asCollector(self._class("[Ljava.lang.Object;"), 2)
        as_pair = self._as_interface(self._class("java.util.function.BiFunction"), pair)
        steps = (
            self.method(future, "toCompletionStage", stage),
            self._with(self.method(stage, "handle", stage, "java.util.function.BiFunction"), as_pair),
            self.method(stage, "toCompletableFuture", "java.util.concurrent.CompletableFuture"),
            self._with(self.method("java.util.concurrent.CompletableFuture", "getNow", OBJECT, OBJECT), None),
        )
        settle = steps[0]
        for step in steps[1:]:
            settle = self.nested(step, settle)
        ignoring_key = self._handles.dropArguments(settle.handle, 0, self._classes((OBJECT,)))
        return self._as_interface(self._class("java.util.function.BiFunction"), ignoring_key)

    def _with(self, make: Make, argument: Any) -> Make:
        given = self._array(OBJECT, [argument])
        return Make(self._handles.insertArguments(make.handle, make.arity - 1, given), make.arity - 1)

    def _new_writer(self) -> Any:
        jackson = self._jvm.com.fasterxml.jackson
        writer = jackson.databind.ObjectMapper()
        access, visible = jackson.annotation.PropertyAccessor, jackson.annotation.JsonAutoDetect.Visibility
        writer.setVisibility(access.ALL, visible.NONE)
        writer.setVisibility(access.FIELD, visible.ANY)
        # Kafka's classes have optional fields; Jackson knows those of Java 8 by a module of its own.
        writer.registerModule(jackson.datatype.jdk8.Jdk8Module())
        texts = jackson.databind.module.SimpleModule()
        for name in _AS_TEXT:
            kind = self._class(name)
            texts.addSerializer(kind, jackson.databind.ser.std.ToStringSerializer(kind))
        writer.registerModule(texts)
        ignored = jackson.annotation.JsonIgnoreProperties.Value.forIgnoredProperties
        for name, fields in _LEFT_OUT.items():
            writer.configOverride(self._class(name)).setIgnorals(ignored(self._array(STRING, fields)))
        return writer

    def _type(self, generic_type: str) -> Any:
        return self._reader.getTypeFactory().constructFromCanonical(generic_type)

    def _class(self, name: str) -> Any:
        if name in _PRIMITIVES:
            return getattr(self._jvm, _PRIMITIVES[name]).TYPE
        return self._jvm.java.lang.Class.forName(name)

    def _classes(self, names: Sequence[str]) -> Any:
        return self._array("java.lang.Class", [self._class(name) for name in names])

    def _array(self, of: str, elements: Sequence[Any]) -> Any:
        kind: Any = self._jvm
        for part in of.split("."):
            kind = getattr(kind, part)
        array = self._gateway.new_array(kind, len(elements))
        for index, element in enumerate(elements):
            array[index] = element
        return array
