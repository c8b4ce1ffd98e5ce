#!/usr/bin/python
"""Ansible module: what the metadata voters of this host have in their files and on their disks.

It changes nothing, needs nothing but Python's standard library, and works whether the servers run or not.
Of a configuration file only the lines about the quorum leave the host: no password does.
"""

from __future__ import annotations

import hashlib
import json
import re
import socket
import struct
import time
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.dcctl_log_files import last_batch, metadata_log, values_of

DOCUMENTATION = r"""
module: dcctl_voters
short_description: Reads the files and the logs of metadata voters
description:
  - For each server its configuration file's digest and lines about the quorum, the end of its metadata log,
    and which leader it knows.
options:
  servers:
    description: By the name of a server a mapping with O(servers.config), the path of its configuration.
    type: dict
    required: true
  await_leader_of:
    description: Servers that are to know a leader before anything is told.
    type: list
    elements: str
    default: []
  await_leader_s:
    description: How long to wait until each of them knows a leader, newer than O(leaders_before).
    type: float
    default: 0
  leaders_before:
    description: By the name of a server the epoch of the last leader that it knew.
    type: dict
    default: {}
author: dcctl
"""
EXAMPLES = r"""
- name: Read the files and the logs of voters
  dcctl_voters:
    servers:
      controller-104: {config: /etc/kafka/controller.properties}
"""
RETURN = r"""
servers:
  description: By the name of a server what was found, or C(problem).
  returned: always
  type: dict
"""

QUORUM_LINES = re.compile(
    r"\s*(server\.\d+|group\.\d+|weight\.\d+|controller\.quorum\.(voters|bootstrap\.servers)|process\.roles|"
    r"node\.id|broker\.id|dynamicConfigFile|reconfigEnabled)\s*[=:]"
)
ANSWER_S = 1.0
POLL_S = 0.1
LOG_HEADER, LOG_MAGIC = 16, b"ZKLG"


def look(config):
    """Everything about the server with this configuration file."""
    raw = Path(config).read_bytes()
    values = values_of(raw.decode("utf-8"))
    path = values.get("dynamicConfigFile") or config
    if path != config:
        raw = Path(path).read_bytes()
    lines = raw.decode("utf-8").splitlines()
    found = {
        "config": config,
        "file": path,
        "sha256": hashlib.sha256(raw).hexdigest(),
        "lines": [[number, line] for number, line in enumerate(lines, 1) if QUORUM_LINES.match(line)],
        "is_being_reconfigured": Path(path + ".next").exists(),
    }
    if "dataDir" in values:
        found.update(zookeeper(values, lines))
    elif "process.roles" in values:
        found.update(kraft(values))
    elif "zookeeper.connect" in values:
        found["is_voter"] = False
    else:
        raise ValueError("is neither a zoo.cfg nor the server.properties of a broker or a controller")
    return found


def zookeeper(values, lines):
    """A server of an ensemble: its id, where its transactions end, and what it says of the quorum.

    Where its members are dynamic, ZooKeeper takes the client port out of zoo.cfg: it stands in `lines`.
    """
    data = Path(values["dataDir"])
    log = Path(values.get("dataLogDir") or data) / "version-2"
    state = data / "version-2"
    found = {
        "kind": "zookeeper",
        "id": int((data / "myid").read_text(encoding="utf-8")),
        "is_broker": False,
        "is_voter": True,
        "is_dynamic": values.get("reconfigEnabled", "").lower() == "true",
        "epoch": int((state / "currentEpoch").read_text(encoding="utf-8")),
        "end": max(last_transaction(log), last_snapshot(state)),
    }
    host = values.get("clientPortAddress", "127.0.0.1")
    port = values.get("clientPort", "").partition(" ")[0]
    for line in lines:
        own = re.match(rf"\s*server\.{found['id']}\s*[=:].*;(?:(.+):)?(\d+)\s*$", line)
        if own:
            host, port = own[1] or "127.0.0.1", own[2]
    found.update(said_by(host, int(port)) if port.isdigit() else {"runs": None, "leads": None})
    return found


def said_by(host, port):
    """What `srvr` answers; a server without a quorum runs, and neither leads nor follows."""
    try:
        with socket.create_connection((host, port), timeout=ANSWER_S) as connection:
            connection.sendall(b"srvr")
            connection.settimeout(ANSWER_S)
            said = b""
            while True:
                chunk = connection.recv(65536)
                if not chunk:
                    break
                said += chunk
    except ConnectionRefusedError:
        return {"runs": False, "leads": None}
    except OSError:
        return {"runs": None, "leads": None}
    mode = re.search(rb"^Mode: (\w+)", said, re.MULTILINE)
    leads = {b"leader": True, b"follower": False, b"standalone": True}.get(mode[1]) if mode else None
    return {"runs": True, "leads": leads}


def newest(folder, prefix):
    """The files of that kind, the newest first, each with the number in its name."""
    # Unlike a glob, a listing says where there is no such folder, or none that may be read.
    files = [file for file in folder.iterdir() if file.name.startswith(prefix + ".")]
    return sorted(((int(file.name.split(".")[1], 16), file) for file in files), reverse=True)


def last_snapshot(folder):
    """The newest transaction in a snapshot of the folder; -1 without one."""
    return max([number for number, _ in newest(folder, "snapshot")], default=-1)


def last_transaction(folder):
    """The newest transaction in the logs of the folder; -1 without one.

    A log is a header and entries of checksum, length, bytes, and 'B'; behind the last one it is zeros.
    """
    ends = (last_in(file) for _, file in newest(folder, "log"))
    return next((end for end in ends if end >= 0), -1)


def last_in(log):
    """The last transaction that is whole in one log; -1 without one."""
    last = -1
    with log.open("rb") as file:
        if file.read(LOG_HEADER)[:4] != LOG_MAGIC:
            return last
        while True:
            head = file.read(12)
            length = struct.unpack(">i", head[8:])[0] if len(head) == 12 else 0
            entry = file.read(length + 1) if length > 0 else b""
            if not entry or len(entry) <= length or entry[-1:] != b"B":
                return last
            last = struct.unpack(">q", entry[12:20])[0]


def kraft(values):
    """A controller, or a node that is one as well: its id, where its metadata log ends, who leads."""
    roles = [role.strip() for role in values["process.roles"].split(",")]
    log = metadata_log(values)
    epoch, end = metadata_end(log)
    found = {
        "kind": "kraft",
        "id": int(values["node.id"]),
        "is_broker": "broker" in roles,
        "is_voter": "controller" in roles,
        "is_dynamic": "controller.quorum.voters" not in values,
        "epoch": epoch,
        "end": end,
        "runs": listens(values),
        "leads": None,
    }
    try:
        state = json.loads((log / "quorum-state").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return found
    leader = state.get("leaderId", -1)
    found["leader_epoch"] = state.get("leaderEpoch", -1)
    found["leads"] = leader == found["id"] if leader >= 0 else None
    return found


def listens(values):
    """Whether its controllers' listener takes connections; None where that cannot be told."""
    wanted = [name.strip() for name in values.get("controller.listener.names", "").split(",")]
    for listener in values.get("listeners", "").split(","):
        name, _, address = listener.strip().partition("://")
        if name in wanted:
            host, _, port = address.rpartition(":")
            try:
                with socket.create_connection((host.strip("[]") or "127.0.0.1", int(port)), timeout=ANSWER_S):
                    return True
            except ConnectionRefusedError:
                return False
            except (OSError, ValueError):
                return None
    return None


def metadata_end(folder):
    """The epoch of the last batch of a metadata log, and the offset behind it; -1 and 0 of an empty one.

    A batch that is not whole was not written to its end, and Kafka cuts it off as it starts.
    """
    found, names = (-1, 0), sorted((file.name for file in folder.iterdir()), reverse=True)
    for name in names:
        offset, _, epoch = name[: -len(".checkpoint")].partition("-")
        if name.endswith(".checkpoint") and offset.isdigit() and epoch.isdigit():
            found = max(found, (int(epoch), int(offset)))
    ends = (last_batch(folder / name) for name in names if name.endswith(".log"))
    return max(found, next((end for end in ends if end is not None), found))


def looked_at(servers):
    """What was found of each, or why nothing was."""
    found = {}
    for name, server in servers.items():
        try:
            found[name] = look(server["config"])
        except (OSError, ValueError, KeyError) as error:
            found[name] = {"problem": f"{server.get('config', 'no config')}: {error}"}
    return found


def knows_leader(found, newer_than):
    """Whether a server runs and knows a leader; in KRaft since a later epoch: its file keeps the last."""
    is_new = found.get("kind") == "zookeeper" or found.get("leader_epoch", -1) > newer_than
    return bool(found.get("runs")) and found.get("leads") is not None and is_new


def main():
    """Read, or wait and read."""
    module = AnsibleModule(
        argument_spec={
            "servers": {"type": "dict", "required": True},
            "await_leader_of": {"type": "list", "elements": "str", "default": []},
            "await_leader_s": {"type": "float", "default": 0.0},
            "leaders_before": {"type": "dict", "default": {}},
        },
        supports_check_mode=True,
    )
    before = module.params["leaders_before"]
    until_s = time.monotonic() + module.params["await_leader_s"]
    while True:
        found = looked_at(module.params["servers"])
        waiting = [
            name
            for name in module.params["await_leader_of"]
            if not knows_leader(found.get(name, {}), int(before.get(name, -1)))
        ]
        if not waiting or time.monotonic() >= until_s:
            module.exit_json(changed=False, servers=found, waiting=waiting)
        time.sleep(POLL_S)


if __name__ == "__main__":
    main()
