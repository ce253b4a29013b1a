"""What the curves are called in files: as short as can be, and never changed, since tables are read by them."""

PLAIN = "plain"
GAUSS_1, GAUSS_1_BOUGHT = "gauss-1", "gauss-1-bought"
GAUSS_2, GAUSS_2_PRINTED = "gauss-2", "gauss-2-printed"
POWER, POWER_PRINTED = "power", "power-printed"
LITERAL, TRACKED_MEAN, TRACKED_MEAN_RATES = "k-dp-pca", "k-dp-pca-tracked", "k-dp-pca-tracked-rates"
OJAS, OJAS_PRINTED = "k-dp-ojas", "k-dp-ojas-printed"
TRACKED, BOUND = "tracked", "lower-bound"
