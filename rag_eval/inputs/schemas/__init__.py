"""Columns and documents of other tools -> our fields."""
