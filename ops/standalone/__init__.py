"""Programs that stand alone: each file runs by itself, wherever it is copied, and imports nothing of this project."""
