"""Benchmarks: what the library promises about speed, and the gate that holds it to that."""
