"""What every number means, in the plainest Python. Never imported by rag_eval."""
