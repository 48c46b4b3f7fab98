"""The player's money. Pages in reading order: rules.md, rules, commands, events, state, decide, evolve, views."""
