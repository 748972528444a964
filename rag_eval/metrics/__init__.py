"""What is measured: the registry of metrics, and per profile what scores mean in words."""
