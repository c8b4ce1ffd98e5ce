"""An estate in memory, on which the verbs run as they are: observe, plan, gates, engine, actions, journal, abort.

Only the servers are not real (`orchestrator.runs.live.servers.Servers`), and time is virtual. Use it so:

    def test_…(estates: Estates) -> None:                  # fixture of tests/twin/conftest.py
        operator = estates.at_work(ACTIVE_PASSIVE)         # a topology file (or a `Topology`), 30 s of normal work
        operator.estate.lose("west")                       # or lose("west", "silent"), bring_back("west")
        operator.estate.live(5)                            # applications, mirrors and watchers go on by themselves
        result = operator.failover()                       # leave, switchover, failback, fence, unfence, resume, abort
        operator.estate.record.done                        # [(verb, object, value), …] in order
        operator.estate.record.by_step()                   # the same and the looks that matter ("see"), by step id
        operator.plan, operator.events                     # the plan, and the records of the journal

`record.entries` hold time, step and kind of each. Every word keeps to itself: no step, function or run is named.

Faults, all to be set at any time:

- a site: `estate.lose(dc)`, `estate.lose(dc, "silent")`, `estate.bring_back(dc)`; logs cut off by a power loss:
  `estate.clusters[name].cut(partition, end)`
- brokers: `estate.clusters[name].set_brokers("gone" | "silent" | "up", 1, 2)`; `set_controllers` likewise
- Connect: `estate.workers[name].state = "gone"`, `.lag_s`, `.connectors[NAME].failed_task`
- the ensemble: `estate.ensemble.is_gone`, `estate.ensemble.lose_locks()`
- holds: `estate.hold(scope, reason)`; in the middle of a run from a `record.harm_where` predicate, or `on_event`
- boot guards: `estate.guard(name)` before the site is lost
- watchers: `estate.watchers[0].is_running`, `.is_looking_at_writers`
- hosts: `estate.applications.reach[dc]`; clients: `estate.applications.clients[dc, "consumer-billing"].rate_per_s`
- doings: `record.harm_nth(n, harm)`, `record.harm_where(predicate, harm)`; see `record.Harm`. A process that dies
  raises `ProcessDied`; then `estate.restart_dcctl()`, and another command
- access rules, topics, groups: values of `estate.clusters[name]`, to be changed at will

What really happened to the applications' records is in `estate.applications.ledger`; `truths` asks it.

The modules: `crew` (time, and what runs side by side), `record` (doings and harm), `clusters` (Kafka as values),
`asking`, `kafka` and `brokers` (Kafka as dcctl asks it), `connect`, `applications`, `checkpoints`, `watching`,
`guards`, `ensemble`, `estate` (all of it together), `operator` (commands), `truths`.
"""
