"""Local web page: choose a file, plan, spend and read the report. Needs the extra ``eigenveil[app]``."""
