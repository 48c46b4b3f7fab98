"""The `croupier` command: one module a verb. It imports all the rest and is imported by nothing."""
