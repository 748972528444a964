"""Files, JSON, CSV cells, SQLite, signals, optional packages; independent of RAG."""
