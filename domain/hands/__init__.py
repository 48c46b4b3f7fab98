"""What cards in hand are worth: one module a kind of hand, shared by the games."""
