"""The `mws` commands, one module each: parse arguments, call the library, print the result."""
