"""Judges behind vendors' SDKs, one module per protocol."""
