"""Two runs to what changed between them, row by row and on the mean, with its uncertainty."""
