"""What the loss of data centres or servers would mean, from the file alone. Pure.

The rules are Kafka's and ZooKeeper's own; docs/durability.md says what each word of an answer means.
`explain_topology` in `analysis.py` is the way in, `Loss` and `loss_of` in `losses.py` say what is lost.
"""
