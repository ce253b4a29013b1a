"""Oracles for one component: the stochastic ePCA oracles of the paper, and a practical form of one of them."""
