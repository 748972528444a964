"""Files, JSON, CSV cells, SQLite, signals, optional packages, checked values: knows nothing of RAG."""
