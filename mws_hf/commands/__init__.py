"""The `mws` commands: the module of a command parses its options, calls the library and prints the result."""
