"""Scorers of other systems, each under that system's names and by its rules."""
