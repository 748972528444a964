"""Outputs: scored blocks -> files of rows, written so that a crash loses little."""
