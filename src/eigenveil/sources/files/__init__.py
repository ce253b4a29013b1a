"""Rows in files, and streams that are written to one first."""
