"""Gin Rummy for three: two play, the third sits out; melds, knocks and lay-offs, to a hundred points."""

from domain.games.gin_rummy import melds

__all__ = ["melds"]
"""The solver, for auditors who hold their own figures against it (`croupier calc`), and for the bench."""
