"""The whole tree of an ensemble as one readable file, and back into an ensemble: in memory, or a real one.

A file holds one node a line, in the order in which ZooKeeper made them, so that each beginning of it is a
state that the ensemble was in (but for nodes that were removed or written anew later: holds, guards' words,
older records of an apply). A value is shown as what it is:

    {"path", "json": {…}}       JSON as dcctl writes it, canonical
    {"path", "packed": {…}}     the same, compressed by zlib
    {"path", "text": "…"}       any other text; "" for none
    {"path", "base64": "…"}     bytes
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from kazoo.client import KazooClient

from orchestrator.runs.plan import canonical_json
from tests.runs.memory_ensemble import MemoryEnsemble


class Node(NamedTuple):
    """One node with its value."""

    path: str
    value: bytes


def dump_tree(hosts: str) -> list[Node]:
    """Every node of a real ensemble but its own and those that a session holds, in the order of their making."""
    client = KazooClient(hosts=hosts)
    client.start(timeout=20)
    try:
        roots = [name for name in client.get_children("/") if name != "zookeeper"]
        found = sorted(node for name in roots for node in _below(client, f"/{name}"))
    finally:
        client.stop()
        client.close()
    return [node for _, node in found]


def _below(client: KazooClient, path: str) -> Iterator[tuple[int, Node]]:
    value, stat = client.get(path)
    if stat.ephemeralOwner:
        return
    yield stat.czxid, Node(path, bytes(value))
    for name in client.get_children(path):
        yield from _below(client, f"{path}/{name}")


def write_tree(file: Path, nodes: Iterable[Node]) -> None:
    """Write nodes to a file."""
    lines = [json.dumps(_shown(node), sort_keys=True, ensure_ascii=False) for node in nodes]
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def read_tree(file: Path) -> list[Node]:
    """Nodes out of a file, in its order."""
    return [_node(json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines()]


def cut(nodes: Iterable[Node], last: str) -> list[Node]:
    """The nodes up to the one with the path `last`, and that one: the ensemble as it was then."""
    found: list[Node] = []
    for node in nodes:
        found.append(node)
        if node.path == last:
            return found
    raise KeyError(last)


def in_memory(nodes: Iterable[Node]) -> MemoryEnsemble:
    """An ensemble in memory with these nodes."""
    ensemble = MemoryEnsemble()
    # A node without a value is there to hold others, which in memory takes none.
    ensemble.nodes = {node.path: node.value for node in nodes if node.value}
    return ensemble


def into_zookeeper(hosts: str, nodes: Iterable[Node]) -> None:
    """Make these nodes in a real ensemble, in their order."""
    client = KazooClient(hosts=hosts)
    client.start(timeout=20)
    try:
        for node in nodes:
            client.ensure_path(node.path.rpartition("/")[0] or "/")
            client.create(node.path, node.value)
    finally:
        client.stop()
        client.close()


def _shown(node: Node) -> dict[str, Any]:
    for name, text in (("json", node.value), ("packed", _unzipped(node.value))):
        data = _canonical(text)
        if data is not None:
            return {"path": node.path, name: data}
    try:
        return {"path": node.path, "text": node.value.decode()}
    except UnicodeDecodeError:
        return {"path": node.path, "base64": base64.b64encode(node.value).decode()}


def _node(shown: dict[str, Any]) -> Node:
    if "json" in shown:
        value = canonical_json(shown["json"]).encode()
    elif "packed" in shown:
        value = zlib.compress(canonical_json(shown["packed"]).encode())
    elif "text" in shown:
        value = shown["text"].encode()
    else:
        value = base64.b64decode(shown["base64"])
    return Node(shown["path"], value)


def _unzipped(value: bytes) -> bytes:
    try:
        return zlib.decompress(value)
    except zlib.error:
        return b""


def _canonical(value: bytes) -> Any:
    """The object in a text that is what `canonical_json` makes of it."""
    try:
        data = json.loads(value)
    except ValueError:
        return None
    return data if isinstance(data, dict) and canonical_json(data).encode() == value else None
