"""The scorers of Regtrace: factuality, format and tone, and its own formulas under their names."""
