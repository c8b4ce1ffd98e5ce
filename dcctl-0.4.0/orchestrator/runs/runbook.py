"""How a verb puts its effects in order: added one by one, as a runbook is read from top to bottom.

Order has two sources. An effect that holds the handle of another's result waits for that one. Order that is
policy is said with its reason: `after=[behind(mirror_stopped, because="…")]`. A step that was added is never
changed; what depends on the situation is a plain `if` where it is added.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from orchestrator.errors import DcctlError
from orchestrator.runs.effect import Effect, Handle, OnFailure, Reversible, Shown, Verified, VerifiedUndo
from orchestrator.runs.plan import NEEDS_RESULT, Phase, Step
from orchestrator.runs.registry import arguments_of

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class After:
    """Order that is policy: wait for these steps, because."""

    steps: tuple[str, ...]
    because: str


def behind(*handles: Handle[Any], because: str) -> After:
    """Wait for these steps, for a reason that the plan shows."""
    return After(tuple(handle.step for handle in handles), because)


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Steps under one policy. `on_failure`: `stop` leaves what was done as it is, `undo` takes the run back,
    `note` only tells. `kept`: why what stands is not taken back even where it could be; empty where it is.
    """

    name: str
    on_failure: OnFailure
    after: tuple[After, ...] = ()
    kept: str = ""


class Runbook:
    """The steps of one plan while they are put together."""

    def __init__(self) -> None:
        self._steps: dict[str, Step] = {}
        self._section: Section | None = None
        self._sections: list[str] = []
        self._first: After | None = None
        self._told: dict[str, tuple[str, ...]] = {}

    @contextmanager
    def section(
        self, name: str, *, on_failure: OnFailure, after: Sequence[After] = (), kept: str = ""
    ) -> Iterator[None]:
        """Steps that are added within belong to it. `after` holds for each of them that waits for no other.

        Raises `DcctlError` where a section is opened within another, or twice.
        """
        if self._section is not None:
            raise DcctlError(f"section {name}", f"is opened within section {self._section.name}")
        if name in self._sections:
            raise DcctlError(f"section {name}", "is opened twice")
        self._sections.append(name)
        self._section = Section(name=name, on_failure=on_failure, after=tuple(after), kept=kept)
        try:
            yield
        finally:
            self._section = None

    def add(
        self,
        effect: Effect[R],
        *,
        id: str = "",  # noqa: A002 - it is the step's id, as a plan has it
        after: Iterable[After] = (),
        title: str = "",
        phase: Phase | None = None,
    ) -> Handle[R]:
        """Add a step. `id` is its name in the plan (default: the effect's), unique within it.

        Returns the handle of its result. Raises `DcctlError` where the id is taken, where it waits for a step
        that was not added before, or where no section is open.
        """
        step_id = id or effect.NAME
        section = self._section
        if section is None:
            raise DcctlError(f"step {step_id}", "is added outside of any section")
        if step_id in self._steps:
            raise DcctlError(f"step {step_id}", "is added twice")
        reasons = dict.fromkeys(_handles_in(effect), NEEDS_RESULT)
        for order in after:
            reasons |= dict.fromkeys(order.steps, order.because)
        if not any(self._is_in(section, needed) for needed in reasons):
            for order in section.after:
                reasons |= {needed: order.because for needed in order.steps if needed not in reasons}
        if not reasons and self._first is not None:
            reasons |= dict.fromkeys(self._first.steps, self._first.because)
        for needed in reasons:
            if needed not in self._steps:
                raise DcctlError(f"step {step_id}", f"waits for {needed}, which was not added before it")
        is_kept = bool(section.kept or effect.IRREVERSIBLE)
        self._steps[step_id] = Step(
            id=step_id,
            phase=phase or effect.PHASE,
            title=title or effect.title,
            action=effect.NAME,
            arguments=arguments_of(effect),
            depends_on=tuple(reasons),
            verify=effect.NAME if isinstance(effect, Verified) else None,
            compensation=effect.NAME if isinstance(effect, Reversible) and not is_kept else None,
            verify_undone=effect.NAME if isinstance(effect, VerifiedUndo) and not is_kept else None,
            irreversible=bool(effect.irreversible),
            on_failure=section.on_failure,
            expected_s=effect.expected_s,
            timeout_s=effect.timeout_s,
            section=section.name,
            reasons=reasons,
            stays_because=effect.irreversible
            or effect.STAYS
            or (section.kept if isinstance(effect, Reversible) else ""),
        )
        return Handle(step_id, effect.NAME)

    def tell(self, shown: Shown[R], *handles: Handle[R]) -> None:
        """A report shows the results of these steps."""
        self._told[shown.name] = (*self._told.get(shown.name, ()), *(handle.step for handle in handles))

    @property
    def told(self) -> dict[str, tuple[str, ...]]:
        """Ids of the steps whose results a report shows, for a plan."""
        return dict(self._told)

    def everything_behind(self, order: After) -> None:
        """Every step that is added from now on and waits for no other waits for these."""
        self._first = order

    def last(self, *, without: Iterable[Handle[Any]] = ()) -> tuple[Handle[Any], ...]:
        """The steps so far that no other waits for: with them everything is done.

        `without` are left out, as if they had never been added.
        """
        left_out = {handle.step for handle in without}
        counted = [step for step in self._steps.values() if step.id not in left_out]
        waited_for = {needed for step in counted for needed in step.depends_on}
        return tuple(Handle(step.id, step.action) for step in counted if step.id not in waited_for)

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps for a plan, in the order in which they were added."""
        return tuple(self._steps.values())

    def _is_in(self, section: Section, step_id: str) -> bool:
        return step_id in self._steps and self._steps[step_id].section == section.name


def _handles_in(effect: Effect[Any]) -> Iterator[str]:
    """Ids of the steps whose results an effect's arguments name, wherever they stand in them."""
    for argument in fields(effect):  # type: ignore[arg-type] # every effect is a dataclass
        yield from _handles(getattr(effect, argument.name))


def _handles(value: object) -> Iterator[str]:
    if isinstance(value, Handle):
        yield value.step
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _handles(inner)
    elif isinstance(value, tuple | list | frozenset | set):
        for inner in value:
            yield from _handles(inner)
