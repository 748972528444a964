"""What a data set can show before a run, and how steady runs are: warnings, splits, diagnostics."""
