"""The metrics that an LLM judge scores."""
