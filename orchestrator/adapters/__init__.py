"""The only place that touches the outside world."""
