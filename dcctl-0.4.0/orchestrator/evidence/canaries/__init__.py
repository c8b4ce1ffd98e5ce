"""What canaries tell of a real run: a part of their ledgers, audited like a rehearsal's."""
