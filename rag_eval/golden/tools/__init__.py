"""Golden datasets in the files of other tools."""
