"""The model of a move: one function a verb is its runbook. Pure.

- `way`, `routes`: from which place to which, over which mirrors. `request`: what a person asked for.
- `participants`: what a mirror engine and a kind of application are for a move.
- `situation`, `gates`: what gates judge, and the one list of them. `prediction`, `losses`: what it will cost.
- `…_runbook`, with `stages` and `handing_over`: the steps, in order, with reasons.
"""
