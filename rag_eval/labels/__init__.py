"""People's labels: files of them checked, drawn for labelling, held against scores."""
