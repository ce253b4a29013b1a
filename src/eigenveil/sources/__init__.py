"""Conversion of user data to blocks of rows, or blocks of people with all their rows."""

from eigenveil.sources.files.csv_files import CsvFiles
from eigenveil.sources.layout import Layout
from eigenveil.sources.open_source import open_source, open_with
from eigenveil.sources.source import Block, Partition, Source

__all__ = ["Block", "CsvFiles", "Layout", "Partition", "Source", "open_source", "open_with"]
