"""Policies that follow the rules of other tools."""
