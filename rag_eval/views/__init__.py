"""What people look at, as data without markup: runs, rows, sentences, outcomes."""
