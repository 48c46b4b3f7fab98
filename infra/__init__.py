"""All that touches the world outside: database, streams, keys, clocks, settings."""
