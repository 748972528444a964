"""Validity: how well scores agree with people, ours beside those of peers that need no model."""
