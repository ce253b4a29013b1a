"""Principal components of a stream: batches, rounds and checkpoints."""
