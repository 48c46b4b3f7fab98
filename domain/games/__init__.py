"""The games, one line each. Nobody outside enters a game but by the name here."""
