"""What each command takes; the work is done in `eigenveil.cli.implementations`."""
