"""Who acts, also where nobody has a name."""

from __future__ import annotations

import os
import pwd

import pytest

from orchestrator.adapters.account import account_name


def test_the_name_of_the_account(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the environment or the system has it."""
    monkeypatch.setenv("LOGNAME", "ada")
    assert account_name() == "ada"


def test_without_a_passwd_entry_it_is_the_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a container that runs under any number, say."""

    def nobody(uid: int) -> None:
        raise KeyError(f"getpwuid(): uid not found: {uid}")

    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", nobody)
    assert account_name() == f"uid-{os.getuid()}"
