"""When a source was lost, from the rounds of the watchers that saw it fail."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from orchestrator.snapshot.sample_codec import Cause, Round

# From the first sign of a site's death to refused connections: the rest of the round it died in, and
# the next one.
_DYING_S = 5.0


class LossWindow(NamedTuple):
    """When the source was lost: after `last_good_at_s`, and not after `first_failed_at_s`.

    `cause` tells how sure the upper end is. `refused`: every broker's address refused the connection, so
    no broker can have acknowledged anything later. `silent`: no answer; a cut link looks the same, and
    behind it producers may have gone on: only the person who attests the loss knows more. A site that
    falls silent and refuses soon after (it died during a round) counts as refused from then on.
    """

    last_good_at_s: float
    first_failed_at_s: float
    cause: Cause


def loss_window(last_good_at_s: float | None, failed: Iterable[Sequence[Round]]) -> LossWindow | None:
    """The window, from the failed rounds of each watcher, ordered by their ends.

    Its end is the first failed round of a watcher that was not already failing while another one still
    succeeded: such a one (a wrong password, a cut link of its own) cannot tell a moment, and if there is
    nothing else, its newest failure is the end. None while the source answers, or when it never did.
    """
    if last_good_at_s is None:
        return None
    dated: list[tuple[float, Cause]] = []
    undated: list[tuple[float, Cause]] = []
    for rounds in failed:
        later = rounds[bisect_right(rounds, last_good_at_s, key=lambda round_: round_.ended_at_s) :]
        if not later:
            continue
        newest, begin = later[-1], _failing_since_s(later[0])
        if begin <= last_good_at_s:
            undated.append((newest.ended_at_s, newest.cause))
        elif newest.refused_since_s is not None and newest.refused_since_s <= begin + _DYING_S:
            dated.append((newest.refused_since_s, "refused"))
        else:
            dated.append((begin, later[0].cause))
    if dated:
        return LossWindow(last_good_at_s, *min(dated))
    return LossWindow(last_good_at_s, *max(undated)) if undated else None


def _failing_since_s(round_: Round) -> float:
    since = round_.failing_since_s
    return round_.ended_at_s if since is None else min(since, round_.ended_at_s)
