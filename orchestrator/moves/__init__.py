"""The model of a move: effects that are declared once, and runbooks that put them in order.

- `effect`: what an effect declares: arguments, result, how it is made, looked at, taken back, what it holds.
- `runbook`: one function a verb adds effects; handles of their results, sections and reasons give the order.
- `registry`: the effects by their names in a plan, so that a plan that was written is read back.
- `acting`: the engine's port to the effects of one run.
- `held`: what a run that is not through keeps from working, by what its effects declare.
"""
