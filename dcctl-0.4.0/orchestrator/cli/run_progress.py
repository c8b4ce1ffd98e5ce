"""How far a run is: a line for each part of it that is done, and each step that did not end well in full."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from rich.markup import escape

from orchestrator.cli.marks import MARKS
from orchestrator.ports.clock import utc_text
from orchestrator.runs.plan import Plan, RunEvent, Step

_ENDS = ("step-outcome", "undo-outcome")
_BEGINS = ("step-intent", "undo-intent")


def part_of(step: Step) -> str:
    """The part of a run that a step belongs to: its section, or in plans of earlier versions its phase."""
    return step.section or step.phase


def parts_in_words(steps: Iterable[Step]) -> str:
    """The parts of a plan in order, each once: what a person keeps in mind of it."""
    return ", ".join(dict.fromkeys(map(part_of, steps)))


def undone_words(stays_because: str) -> str:
    """What stands before the title of a step whose undo has ended: it takes nothing back of what stays."""
    return "stands: " if stays_because else "undone: "


def clock_text(at_s: float) -> str:
    """The time of day in UTC."""
    return utc_text(at_s).split()[1]


def step_line(event: RunEvent, title: str, seconds: float) -> str:
    """One line for a step that has ended, with the time at which it did."""
    message = f"  [dim]{escape(event.message)}[/]" if event.message else ""
    mark = MARKS.get(str(event.came_to), "·")
    return f"  [dim]{clock_text(event.at_s)}[/]  {mark} {escape(title)} [dim]({seconds:.1f} s)[/]{message}"


@dataclass
class _Part:
    """Steps of one part that have ended well, and from when to when."""

    waits_for: int
    done: int = 0
    stand: int = 0
    begun_s: float = 0.0
    ended_s: float = 0.0


@dataclass
class RunProgress:
    """Takes the records of a run, and gives the lines that stay.

    `is_folded`: steps that end well are told by the part of the run that they belong to, once all of it is
    done, or by `rest` at the end. Whatever does not end well has its own line at once, either way.
    """

    is_folded: bool = True
    plan: Plan | None = None
    begun_s: dict[str, float] = field(default_factory=dict)
    """Steps under way, and when each began, Unix epoch seconds."""
    _parts: dict[tuple[str, str], _Part] = field(default_factory=dict)
    _steps: dict[str, Step] = field(default_factory=dict)

    def take_plan(self, plan: Plan) -> None:
        """From now on steps have titles."""
        self.plan = plan
        self._steps = {step.id: step for step in plan.steps}

    def take_event(self, event: RunEvent) -> Iterator[str]:
        """Lines for one record of the journal."""
        if event.kind in _BEGINS:
            self.begun_s[event.step] = event.at_s
        elif event.kind == "undo-started":
            yield from self.rest()
            yield (
                f"  [dim]{clock_text(event.at_s)}[/]  [bold yellow]↶[/] rolled back: {escape(event.message)}"
            )
        elif event.kind in _ENDS and event.outcome is not None:
            yield from self._ended(event)

    def title(self, step_id: str) -> str:
        """Of a step, or its id where no plan tells it."""
        step = self._steps.get(step_id)
        return step.title if step else step_id

    def rest(self) -> Iterator[str]:
        """Lines for the parts of which not every step has ended well."""
        for (way, name), part in self._parts.items():
            yield _part_line(way, name, part)
        self._parts.clear()

    def _ended(self, event: RunEvent) -> Iterator[str]:
        begun_s = self.begun_s.pop(event.step, event.at_s)
        step, is_undo = self._steps.get(event.step), event.kind == "undo-outcome"
        if event.came_to != "ok" or step is None or not self.is_folded:
            title = self.title(event.step)
            if is_undo:
                title = undone_words(step.stays_because if step else "") + title
            yield step_line(event, title, event.at_s - begun_s)
            return
        key = ("undo" if is_undo else "do", part_of(step))
        if key not in self._parts:
            self._parts[key] = _Part(self._count(key[1]), begun_s=begun_s)
        part = self._parts[key]
        part.done += 1
        part.stand += bool(is_undo and step.stays_because)
        part.begun_s, part.ended_s = min(part.begun_s, begun_s), event.at_s
        if part.done == part.waits_for:
            yield _part_line(*key, self._parts.pop(key))

    def _count(self, name: str) -> int:
        return sum(part_of(step) == name for step in self._steps.values())


def steps_in_words(count: int, *, is_undo: bool = False, stand: int = 0) -> str:
    """How many steps, or how many are undone and how many of them stand all the same."""
    if not is_undo:
        return _steps(count)
    told = [f"{_steps(count - stand)} undone"] if count > stand else []
    told += [f"{_steps(stand)} stand{'s' if stand == 1 else ''}"] if stand else []
    return ", ".join(told)


def _part_line(way: str, name: str, part: _Part) -> str:
    is_whole = way == "undo" or part.done >= part.waits_for
    told = steps_in_words(part.done, is_undo=way == "undo", stand=part.stand)
    if not is_whole:
        told = f"{part.done} of {_steps(part.waits_for)}"
    return (
        f"  [dim]{clock_text(part.ended_s)}[/]  {MARKS['ok'] if is_whole else '·'} {escape(name)}: {told}"
        f" [dim]({part.ended_s - part.begun_s:.1f} s)[/]"
    )


def _steps(count: int) -> str:
    return f"{count} step{'s' if count != 1 else ''}"
