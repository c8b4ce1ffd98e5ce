"""Runs of any verb. Pure, but for `live`.

- `plan`: what will be done, and why it may be done: gates, steps, prices.
- `effect`: what an effect declares: arguments, result, how it is made, looked at, taken back, what it holds.
- `runbook`: effects are added; handles of their results, sections and reasons give the order.
- `registry`: the effects by their names in a plan, so that a plan that was written is read back.
- `acting`: the engine's port to the effects of one run. `engine`: the engine, which knows no Kafka.
- `held`: what a run that is not through keeps from working, by what its effects declare.
"""
