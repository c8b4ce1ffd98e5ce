"""An estate brought to what its topology file says: what differs, what mends it, and the runbook of an apply.

- `difference`, `applied`, `compare_…`: how file and estate differ, why, and the effect that mends it.
- `batch`: effects on many objects of one cluster; `topics`, `replicas`, `access`, `connectors`, `record` have
  them, `effects` all of them by their names in a plan, `ports` what they reach of the world.
- `runbook`: their order. `layout`: the plan made of all that, with the gates of `reconcile_gates`.
"""
