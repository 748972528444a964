"""Compiled kernels; only the modules that the test of the layers lists import them."""
