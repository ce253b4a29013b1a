"""Scores of a fitted model: projections, files, and private histograms of them."""
