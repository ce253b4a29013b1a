"""One direction at a time: the paper's stochastic ePCA oracles, and ours."""
