"""Whole jobs in constant memory: files scored, runs reported, judges checked and estimated."""
