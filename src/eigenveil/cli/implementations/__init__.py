"""Implementations of the commands, one module per command. Imported when a command runs, because numpy is slow."""
