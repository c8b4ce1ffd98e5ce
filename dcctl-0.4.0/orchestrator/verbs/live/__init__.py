"""The verbs carried out: an estate is opened, observed, planned for and changed."""
