#!/usr/bin/python
"""Ansible module: controllers that stand still forget whom they followed, and for whom they had voted."""

from __future__ import annotations

import json
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.dcctl_files import replaced
from ansible.module_utils.dcctl_log_files import metadata_log, values_of

DOCUMENTATION = r"""
module: dcctl_quorum_state
short_description: Lets KRaft controllers forget a leader that is no voter any more
description:
  - A controller starts as candidate of the epoch in which it had voted for itself, though another one led it.
    Where that leader is not in its list of voters, the answer of whoever remembers that leader ends the
    controller (C(KafkaRaftClient.transitionToFollower), "Unknown leader endpoints").
  - So all of them, while none runs, are set to O(epoch) without a leader and without a vote. The next
    election is one of a later epoch, and nobody votes in an earlier one.
  - A controller that has gone on to a later epoch stays as it is.
options:
  servers:
    description: By the name of a server its C(config), the path of C(server.properties).
    type: dict
    required: true
  epoch:
    description: The latest epoch that any of them knows, at all hosts.
    type: int
    required: true
  kept_as:
    description: What is put behind the path of a file that is kept as it was.
    type: str
    default: .before-dcctl
author: dcctl
"""
EXAMPLES = r"""
- name: Forget the leader
  dcctl_quorum_state:
    servers: {controller-104: {config: /etc/kafka/server.properties}}
    epoch: 7
"""
RETURN = r"""
forgot:
  description: Names of servers whose state is another one than before, or would be in check mode.
  returned: success
  type: list
"""
_NOBODY = -1
_NO_DIRECTORY = "AAAAAAAAAAAAAAAAAAAAAA"


def state_file(config):
    """Where a controller keeps it."""
    return metadata_log(values_of(Path(config).read_text(encoding="utf-8"))) / "quorum-state"


def forgotten(state, epoch):
    """The same without a leader and a vote; None where it is of a later epoch."""
    if state.get("leaderEpoch", _NOBODY) > epoch:
        return None
    without = {**state, "leaderId": _NOBODY, "leaderEpoch": epoch, "votedId": _NOBODY}
    if "votedDirectoryId" in state:
        without["votedDirectoryId"] = _NO_DIRECTORY
    return without


def main():
    """Look, and change."""
    module = AnsibleModule(
        argument_spec={
            "servers": {"type": "dict", "required": True},
            "epoch": {"type": "int", "required": True},
            "kept_as": {"type": "str", "default": ".before-dcctl"},
        },
        supports_check_mode=True,
    )
    forgot = []
    for name, its in sorted(module.params["servers"].items()):
        try:
            path = state_file(its["config"])
            if not path.exists():
                continue
            raw = path.read_bytes()
            state = json.loads(raw)
        except (OSError, ValueError) as error:
            module.fail_json(msg=f"the quorum state of {name} cannot be read: {error}")
        without = forgotten(state, module.params["epoch"])
        if without is None or without == state:
            continue
        forgot.append(name)
        if not module.check_mode:
            new = json.dumps(without, separators=(",", ":")).encode("utf-8")
            replaced(module, path, raw, new, module.params["kept_as"])
    module.exit_json(changed=bool(forgot), forgot=forgot)


if __name__ == "__main__":
    main()
