"""Figures as people read them: always with a unit, large ones with thin separators, times in UTC."""

from __future__ import annotations

from datetime import UTC, datetime

# Both are narrow or plain no-break spaces: a number never breaks at a line's end, nor from its unit.
THIN = "\u202f"
NBSP = "\u00a0"

UNKNOWN = "unknown"


def number(value: float | None, *, unknown: str = UNKNOWN, separator: str = THIN) -> str:
    """`248213` as `248 213`; fractions to one place."""
    if value is None:
        return unknown
    text = f"{value:,}" if isinstance(value, int) else f"{value:,.1f}".removesuffix(".0")
    return text.replace(",", separator).replace("-", "−")


def counted(value: int | None, noun: str, *, unknown: str = "an unknown number of") -> str:
    """`1 312 records`, `1 record`; the noun in the singular."""
    if value == 1:
        return f"1{NBSP}{noun}"
    return f"{number(value, unknown=unknown)}{NBSP if value is not None else ' '}{noun}s"


def duration(seconds: float | None, *, unknown: str = UNKNOWN) -> str:
    """`34 ms`, `3.4 s`, `2 min 05 s`."""
    if seconds is None:
        return unknown
    if seconds == 0:
        return f"0{NBSP}s"
    if seconds < 0.1:
        return f"{max(1, round(seconds * 1000))}{NBSP}ms"
    if round(seconds, 1) < 60:
        return f"{seconds:.1f}{NBSP}s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{number(minutes)}{NBSP}min" + (f"{NBSP}{rest:02d}{NBSP}s" if rest else "")


def share(part: int | None, whole: int | None) -> str:
    """`0.53 %` of the whole; empty where it has no meaning."""
    if part is None or not whole:
        return ""
    percent = 100 * part / whole
    text = f"{percent:.2f}" if percent < 10 else f"{percent:.0f}"
    return f"under 0.01{NBSP}%" if part and text == "0.00" else f"{text.removesuffix('.00')}{NBSP}%"


def moment(value: datetime | float | None, *, unknown: str = UNKNOWN) -> str:
    """`2026-03-01 03:12:45 UTC`, from a time or from epoch seconds."""
    return unknown if value is None else f"{_utc(value):%Y-%m-%d %H:%M:%S} UTC"


def clock(value: datetime | float | None) -> str:
    """`03:12:45.3` of the day, in UTC."""
    if value is None:
        return ""
    when = _utc(value)
    return f"{when:%H:%M:%S}.{when.microsecond // 100_000}"


def relative(seconds: float) -> str:
    """`+3.4 s` after the fault, `−12.0 s` before it; what rounds to the fault itself has no minus."""
    seconds = round(seconds, 1) + 0.0
    return f"{'−' if seconds < 0 else '+'}{abs(seconds):.1f}{NBSP}s"


def joined(names: list[str] | tuple[str, ...]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else ""


def _utc(value: datetime | float) -> datetime:
    return value.astimezone(UTC) if isinstance(value, datetime) else datetime.fromtimestamp(value, UTC)
