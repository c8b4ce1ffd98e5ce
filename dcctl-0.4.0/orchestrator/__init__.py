"""dcctl: moves Kafka between data centres, with a stated and measured loss."""

__version__ = "0.4.0"
