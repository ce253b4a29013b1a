"""Differentially private PCA."""
