"""Names that programs of version 0.2.0 are started by; they go with version 0.5.0."""
