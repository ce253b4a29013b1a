"""Collections that a Dask or Spark cluster holds."""
