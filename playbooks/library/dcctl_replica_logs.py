#!/usr/bin/python
"""Ansible module: where the logs of this host's brokers end on disk, and what they hold from an offset on.

It changes no log, needs nothing but Python's standard library, and is meant for brokers that do not run: the
log of one that does may grow while it is read.
"""

from __future__ import annotations

import re
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.dcctl_log_files import batches_from, last_batch, values_of

DOCUMENTATION = r"""
module: dcctl_replica_logs
short_description: Reads where the logs of brokers end on disk
description:
  - Of each partition in the log directories of each broker the epoch of its last record, the offset behind
    it, and where its leader epochs begin.
options:
  servers:
    description: By the name of a server a mapping with O(servers.config), the path of its configuration.
    type: dict
    required: true
  keep_from:
    description: By the name of a server, by partition (C(topic-number)), the offset from which on its batches
      are copied. A batch that begins before it and reaches beyond it is copied whole.
    type: dict
    default: {}
  keep_in:
    description: The folder for the copies, C(server/partition/segment.log). It is made where there is none.
    type: path
author: dcctl
"""
EXAMPLES = r"""
- name: Read where the logs of brokers end
  dcctl_replica_logs:
    servers:
      broker-1: {config: /etc/kafka/server.properties}
"""
RETURN = r"""
servers:
  description: By the name of a server its broker's id, none of another, and its logs; or C(problem).
  returned: always
  type: dict
"""

PARTITION = re.compile(r"(.+)-\d+$")
CHUNK = 1024 * 1024


def look(config):
    """The broker with this configuration file: its id, and its logs."""
    values = values_of(Path(config).read_text(encoding="utf-8"))
    roles = [role.strip() for role in values.get("process.roles", "").split(",")]
    if "zookeeper.connect" not in values and "broker" not in roles:
        return {"id": None, "logs": {}}
    return {
        "id": int(values.get("node.id") or values["broker.id"]),
        "logs": {folder.name: ends_of(folder) for folder in folders_of(values)},
    }


def folders_of(values):
    """The folders of its partitions: neither those that are being deleted, nor copies that are being made."""
    named = values.get("log.dirs") or values.get("log.dir", "/tmp/kafka-logs")  # noqa: S108 - Kafka's own default
    for root in named.split(","):
        for folder in sorted(Path(root.strip()).iterdir()):
            if (
                folder.is_dir()
                and PARTITION.match(folder.name)
                and not folder.name.startswith("__cluster_metadata-")
            ):
                yield folder


def ends_of(folder):
    """Epoch of the last record, the offset behind it, where epochs begin; of an empty log -1, its start."""
    epochs = epochs_of(folder / "leader-epoch-checkpoint")
    segments = sorted((file for file in folder.iterdir() if file.suffix == ".log"), reverse=True)
    for segment in segments:
        found = last_batch(segment)
        if found is not None:
            # What the broker has noted may be older than its last records: then they tell nothing.
            is_whole = bool(epochs) and epochs[-1][0] == found[0]
            return {"epoch": found[0], "end": found[1], "epochs": epochs if is_whole else None}
    start = int(segments[-1].stem) if segments else 0
    return {"epoch": -1, "end": start, "epochs": None}


def epochs_of(path):
    """Leader epochs with the offset at which each begins; none where the file is not there or not whole."""
    try:
        version, count, *lines = path.read_text(encoding="utf-8").split("\n")
        rows = [[int(word) for word in line.split()] for line in lines if line.strip()]
    except (OSError, ValueError):
        return []
    return rows if version == "0" and len(rows) == int(count) else []


def keep(config, wanted, into):
    """Copy the batches of these partitions that reach beyond an offset; returns partitions and segments."""
    values = values_of(Path(config).read_text(encoding="utf-8"))
    written = []
    for folder in folders_of(values):
        if folder.name not in wanted:
            continue
        for segment in sorted(file for file in folder.iterdir() if file.suffix == ".log"):
            with segment.open("rb") as file:
                begins = begin_of(file, int(wanted[folder.name]))
                if begins is None:
                    continue
                first, last = begins
                target = into / folder.name / segment.name
                target.parent.mkdir(parents=True, exist_ok=True)
                copied(file, first, last, target)
            written.append({"partition": folder.name, "segment": segment.name})
    return written


def copied(file, first, last, target):
    """The bytes of a file from one position to another."""
    file.seek(first)
    with target.open("wb") as copy:
        while first < last:
            chunk = file.read(min(CHUNK, last - first))
            copy.write(chunk)
            first += len(chunk) or last


def begin_of(file, offset):
    """From which position to which the batches lie that reach beyond an offset; None for no such batch."""
    first, last, position = None, 0, 0
    for _, end, behind in batches_from(file, 0):
        if end > offset and first is None:
            first = position
        position = last = behind
    return None if first is None else (first, last)


def main():
    """Read, and copy what is asked for."""
    module = AnsibleModule(
        argument_spec={
            "servers": {"type": "dict", "required": True},
            "keep_from": {"type": "dict", "default": {}},
            "keep_in": {"type": "path"},
        },
        supports_check_mode=True,
    )
    found, kept = {}, []
    for name, server in module.params["servers"].items():
        wanted = module.params["keep_from"].get(name)
        try:
            found[name] = look(server["config"])
            if wanted and module.params["keep_in"] and not module.check_mode:
                copies = keep(server["config"], wanted, Path(module.params["keep_in"]) / name)
                kept += [{"server": name, **copy} for copy in copies]
        except (OSError, ValueError, KeyError) as error:
            found[name] = {"problem": f"{server.get('config', 'no config')}: {error}"}
    module.exit_json(changed=bool(kept), servers=found, kept=kept)


if __name__ == "__main__":
    main()
