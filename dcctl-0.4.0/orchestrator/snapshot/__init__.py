"""One picture of an estate, each part with source, time and, if absent, why; samples of a watcher. Pure."""
