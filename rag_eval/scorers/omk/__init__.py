"""The scorers of omk: assertions, their layers, and its ratings by a judge."""
