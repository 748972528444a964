"""A run and its baselines to a verdict, by one of several policies."""
