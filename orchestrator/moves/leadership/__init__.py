"""Which replica of a partition leads: the preferred one, or one that was put first for a while."""
