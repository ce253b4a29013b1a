"""Collections that are distributed over a Dask or Spark cluster."""
