"""A Java virtual machine that Python calls into: Kafka's own classes, to hold ours against them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

from orchestrator.adapters.java.calls import keep_py4j_quiet
from orchestrator.adapters.java.runtime import KafkaRuntime

_JVM_OPTIONS = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"]


@contextmanager
def java_gateway(
    runtime: KafkaRuntime, *, heap_mb: int = 256, options: list[str] | None = None
) -> Iterator[JavaGateway]:
    """A JVM with the runtime's jars on its class path; it ends with the block, or with this process."""
    keep_py4j_quiet()
    port, process = launch_gateway(
        classpath=runtime.class_path,
        javaopts=[f"-Xmx{heap_mb}m", *(_JVM_OPTIONS if options is None else options)],
        java_path=str(runtime.java.executable),
        die_on_exit=True,
        redirect_stdout=subprocess.DEVNULL,
        redirect_stderr=subprocess.DEVNULL,
        return_proc=True,
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auto_convert=True))
    try:
        yield gateway
    finally:
        gateway.shutdown()
        process.stdin.close()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def consumer_record(gateway: JavaGateway, key: bytes, value: bytes) -> Any:
    """A record as Kafka's Java consumer hands it out."""
    return gateway.jvm.org.apache.kafka.clients.consumer.ConsumerRecord("topic", 0, 0, key, value)


def hidden_result(gateway: JavaGateway, instance: Any, method: str) -> Any:
    """What a method without arguments returns that is visible only inside its own Java package."""
    found = instance.getClass().getDeclaredMethod(method, gateway.new_array(gateway.jvm.Class, 0))
    found.setAccessible(True)
    return found.invoke(instance, gateway.new_array(gateway.jvm.Object, 0))
