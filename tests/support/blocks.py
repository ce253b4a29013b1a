"""All units of an operator, for tests that look at them without a plan."""


def blocks_of(operator):
    return [block for partition in operator.partitions() for block in partition.blocks()]
