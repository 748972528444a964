"""A fuzzer of the compiled code: hostile input, checked against oracles; see README.md."""
