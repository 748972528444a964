"""Files, JSON, CSV cells, SQLite, signals, optional packages; knows nothing of RAG."""
