#!/usr/bin/python
"""Ansible module: changes lines of files, all or none, if they are the files that were read."""

from __future__ import annotations

import hashlib
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.dcctl_files import put, staged

DOCUMENTATION = r"""
module: dcctl_lines
short_description: Changes lines of files that are known
description:
  - Changes lines of files whose digests are known, and keeps each file as it was beside it.
  - A file that has these lines already, and had that digest without them, stays as it is.
  - Where any other file is found, or one cannot be written beside the one that it is to replace, none is
    changed, and the task fails.
options:
  files:
    description:
      - By the name of a server its file; C(path), C(sha256), the digest of the file as it was read, and
        C(changes), lines by their C(number), from 1 on, what C(was) there and is C(now).
      - Also C(becomes), the digest that the file is to have afterwards, where that is known.
    type: dict
    required: true
  kept_as:
    description: What is put behind the path of each file that is kept.
    type: str
    default: .before-dcctl
author: dcctl
"""
EXAMPLES = r"""
- name: Leave one server out
  dcctl_lines:
    files:
      zookeeper-4:
        path: /etc/zookeeper/zoo.cfg
        sha256: 9b3e…
        changes: [{number: 7, was: "server.1=a:2888:3888", now: "#server.1=a:2888:3888"}]
"""
RETURN = r"""
sha256:
  description: By the name of a server the digest of its file as it is now, or would be in check mode.
  returned: success
  type: dict
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


def planned(path, wanted):
    """The file as it is, and as it is to be. Raises `ValueError` where it is not the one that was read."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from error
    now, known = changed(raw, wanted["changes"], "was", "now"), wanted["sha256"]
    if digest(raw) != known or now is None:
        earlier = changed(raw, wanted["changes"], "now", "was")
        if earlier is not None and digest(earlier) == known:
            return raw, raw
        raise ValueError(f"{path} is not the file that was read: sha256 {known}, now {digest(raw)}")
    becomes = wanted.get("becomes")
    if becomes and digest(now) != becomes:
        raise ValueError(f"{path} would not become the file that it was: sha256 {becomes}, {digest(now)}")
    return raw, now


def change(module, plans):
    """All files are written beside those that they replace before the first of these is replaced."""
    beside = []
    try:
        for path, raw, now in plans:
            beside.append((staged(path, raw, now, module.params["kept_as"]), path))
    except OSError as error:
        for temporary, _ in beside:
            Path(temporary).unlink()
        module.fail_json(msg=f"{path} cannot be changed, and no file was: {error.strerror}: {error.filename}")
    for temporary, path in beside:
        put(module, temporary, path)


def main():
    """Look at all of them, and change them."""
    module = AnsibleModule(
        argument_spec={
            "files": {"type": "dict", "required": True},
            "kept_as": {"type": "str", "default": ".before-dcctl"},
        },
        supports_check_mode=True,
    )
    plans, wrong = {}, []
    for name, wanted in sorted(module.params["files"].items()):
        path = Path(wanted["path"]).resolve()
        try:
            plans[name] = (path, *planned(path, wanted))
        except ValueError as error:
            wrong.append(str(error))
    if wrong:
        module.fail_json(msg="; ".join(wrong))
    if not module.check_mode:
        change(module, [plan for plan in plans.values() if plan[1] != plan[2]])
    module.exit_json(
        changed=any(now != raw for _, raw, now in plans.values()),
        sha256={name: digest(now) for name, (_, _, now) in plans.items()},
    )


if __name__ == "__main__":
    main()
