"""How often our statistics are right, by simulation: intervals, tests, gates, estimates."""
