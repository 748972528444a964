"""Scored runs: files and results to rows of scores, kept in a store, taken as baselines."""
