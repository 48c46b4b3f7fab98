"""Gin Rummy for three: two play, the third sits out; melds, knocks and lay-offs, to a hundred points."""
