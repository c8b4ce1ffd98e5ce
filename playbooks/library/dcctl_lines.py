#!/usr/bin/python
"""Ansible module: changes lines of a file, all or none, if it is the file that was read."""

from __future__ import annotations

import hashlib
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.dcctl_files import replaced

DOCUMENTATION = r"""
module: dcctl_lines
short_description: Changes lines of a file that is known
description:
  - Changes lines of a file whose digest is known, and keeps the file as it was beside it.
  - A file that has these lines already, and had that digest without them, stays as it is.
  - Any other file is left alone, and the task fails.
options:
  path:
    description: The file.
    type: path
    required: true
  sha256:
    description: The digest of the file as it was read.
    type: str
    required: true
  changes:
    description: Lines by their O(changes.number), from 1 on; what O(changes.was) there is O(changes.now).
    type: list
    elements: dict
    required: true
  becomes:
    description: The digest that the file is to have afterwards, where that is known.
    type: str
  kept_as:
    description: What is put behind the path of the file that is kept.
    type: str
    default: .before-dcctl
author: dcctl
"""
EXAMPLES = r"""
- name: Leave one server out
  dcctl_lines:
    path: /etc/zookeeper/zoo.cfg
    sha256: 9b3e…
    changes: [{number: 7, was: "server.1=a:2888:3888", now: "#server.1=a:2888:3888"}]
"""
RETURN = r"""
sha256:
  description: The digest of the file as it is now, or would be in check mode.
  returned: success
  type: str
"""


def digest(raw):
    """As `sha256sum` has it."""
    return hashlib.sha256(raw).hexdigest()


def changed(raw, changes, old, new):
    """The file with other lines; None where a line is not the old one."""
    lines = raw.split(b"\n")
    for change in changes:
        at = int(change["number"]) - 1
        if at >= len(lines):
            return None
        end = b"\r" if lines[at].endswith(b"\r") else b""
        if lines[at] != change[old].encode("utf-8") + end:
            return None
        lines[at] = change[new].encode("utf-8") + end
    return b"\n".join(lines)


def main():
    """Look, and change."""
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "sha256": {"type": "str", "required": True},
            "changes": {"type": "list", "elements": "dict", "required": True},
            "becomes": {"type": "str"},
            "kept_as": {"type": "str", "default": ".before-dcctl"},
        },
        supports_check_mode=True,
    )
    path, wanted, changes = (module.params[key] for key in ("path", "sha256", "changes"))
    path = Path(path).resolve()
    try:
        raw = path.read_bytes()
    except OSError as error:
        module.fail_json(msg=f"{path} cannot be read: {error.strerror}")
    now = changed(raw, changes, "was", "now")
    if digest(raw) != wanted or now is None:
        earlier = changed(raw, changes, "now", "was")
        if earlier is not None and digest(earlier) == wanted:
            module.exit_json(changed=False, sha256=digest(raw))
        module.fail_json(msg=f"{path} is not the file that was read: sha256 {wanted}, now {digest(raw)}")
    becomes = module.params["becomes"]
    if becomes and digest(now) != becomes:
        module.fail_json(msg=f"{path} would not become the file that it was: sha256 {becomes}, {digest(now)}")
    if not module.check_mode and now != raw:
        replaced(module, path, raw, now, module.params["kept_as"])
    module.exit_json(changed=now != raw, sha256=digest(now))


if __name__ == "__main__":
    main()
