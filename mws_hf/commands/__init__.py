"""The `mws` commands: a module reads the arguments of commands of a theme, calls the library, prints the result."""
