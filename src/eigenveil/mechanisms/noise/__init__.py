"""Exact noise, and the veil that charges the ledger before it draws any."""
