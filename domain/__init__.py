"""The rules, pure: no clock, dice, I/O, logging or framework.

Read in this order: cards, money, errors, game (the `Game` value everything else is generic over), fairness, hands/,
wallet/ (the player's money), games/ (one folder a game, the same pages in each).
"""
