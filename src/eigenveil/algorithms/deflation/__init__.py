"""One component after the other, each from an oracle for the first."""
