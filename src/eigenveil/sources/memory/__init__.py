"""Rows in memory: arrays, sparse matrices, Arrow tables and data frames."""
