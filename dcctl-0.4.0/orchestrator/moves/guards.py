"""Before a lost side's counterpart is recorded as primary: no broker of it may come up open any more."""

from __future__ import annotations

from pydantic.dataclasses import dataclass

from orchestrator.guards.guarding import WAITED_FOR_S
from orchestrator.moves.ports import BootGuards
from orchestrator.runs.effect import EFFECT_CONFIG, Done, Failed, Look, Nothing, Outcome, Running
from orchestrator.runs.guards import may_open_yet, not_clear


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class AwaitGuards(
    Look[Nothing],
    name="await-guards",
    phase="fence",
    title="Verify that no broker of {cluster} is about to accept applications again",
    timeout_s=WAITED_FOR_S + 15,
):
    """Wait until no guard can have a broker on its way to open; at once where none has let one start.

    The intent of this step is in the journal, so from now on each guard that asks is told *closed*.

    `since_s` (Unix seconds): since when a guard's word *open* tells of a broker that nobody has seen answer.
    `must_be_clear`: a guard of which nobody can tell keeps the run from going on. `usual_s`: what it takes.
    """

    cluster: str
    since_s: float
    must_be_clear: bool
    usual_s: float

    @property
    def expected_s(self) -> float:
        """See `Effect`."""
        return self.usual_s

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        guards = run.port(BootGuards)
        waited_for: dict[str, None] = {}
        unclear: tuple[str, ...] = ()
        is_asked = True

        def are_clear() -> bool:
            nonlocal unclear, is_asked
            said = guards.said(self.cluster)
            if said is None:
                is_asked = False
                return True
            opening, unclear = may_open_yet(said, self.since_s), not_clear(said, self.since_s)
            waited_for.update(dict.fromkeys(word.server for word in opening))
            return not opening and not unclear

        is_clear = run.await_true(are_clear, WAITED_FOR_S, poll_s=0.5)
        if not is_asked:
            return Done(Nothing(), "the boot guards could not be asked: the ensemble does not answer")
        if run.is_cancelled() and not is_clear:
            return Failed("the run was interrupted before the boot guards had answered")
        if not is_clear and unclear and self.must_be_clear:
            return Failed(f"{'; '.join(unclear)}: whether that broker may still open is unknown")
        if not waited_for:
            said = f"no boot guard has let a broker of {self.cluster} open since {self.cluster} was last seen"
            return Done(Nothing(), said)
        how = "closed now" if is_clear else f"not seen open within {WAITED_FOR_S:g} s"
        return Done(Nothing(), f"{', '.join(waited_for)} had been allowed to open by a boot guard; {how}")
