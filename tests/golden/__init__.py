"""Several hundred situations, and what dcctl makes of them: what must stay as it is when its insides change.

Each situation is a topology file, what happens to the estate in plain words, and commands as they are typed
(`stories`, `files`, `words`, `commands`). It runs on the estate in memory (`tests.twin`), and what becomes of it
lies in `kept`, one file a group (`play`, `witness`):

- what was done to the world, without names of steps. Offsets stand as what they mean (the end of a log, what a
  group skips or reads again), for as such they depend on how long producers could still write. Sorted: what runs side
  by side has no order of its own;
- gates, predictions, the length of the longest way, how the command ended, what an unfinished run holds;
- in the end: who is primary, who works where, what is lacking, was passed over or read again.

What comes before what stands in `order`, by hand, in the same words and with reasons. It is held against the plan of
each run; `bite` takes the edges of the plans out one by one and shows which of them no pair misses.

    python -m tests.golden.write [NAME…]      write the files anew (of groups with that in their names); what differs
    python -m tests.golden.bite               edges that no pair of the table misses, in all situations

A process that is killed while steps run side by side has done some of them: what was done by then is kept with the
command that goes on, or takes back, where it comes to the same whole. Of a run that is taken back, which of the steps
side by side had come first still shows.
"""
