"""Results in a form to read or to hand on."""
