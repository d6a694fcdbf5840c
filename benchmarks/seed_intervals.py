"""Means over a few seeds, for the benchmarks that train."""

import math
import statistics

STUDENT = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776}  # the 0.975 quantile by degrees of freedom


def interval(values, digits=2):
    """Mean and half width of the two-sided 95 % t-interval of shares, in points; the half width of a single value is infinite."""
    mean = statistics.mean(values)
    half = STUDENT[len(values) - 1] * statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.inf
    return [round(100 * number, digits) for number in (mean, half)]
