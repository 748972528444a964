"""The scorers of HazelJS eval: answers against contexts and tools, and its judge."""
