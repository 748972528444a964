"""Policies of other tools, by those tools' rules."""
