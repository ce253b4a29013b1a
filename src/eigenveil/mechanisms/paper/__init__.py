"""Mechanisms of the paper's algorithms, as printed and corrected."""
