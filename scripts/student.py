"""Student's t over a few seeds: intervals, p-values, and what is made of them. Every script and benchmark takes these."""

import functools
import math
import statistics


def incomplete_beta(a, b, x):
    """The regularised incomplete beta function by its continued fraction (Lentz)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - incomplete_beta(b, a, 1 - x)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)) / a
    tiny = 1e-300
    c, d = 1.0, 1 / max(1 - (a + b) * x / (a + 1), tiny)
    fraction = d
    for m in range(1, 500):
        for term in (m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)), -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))):
            d = 1 / ((1 + term * d) or tiny)
            c = (1 + term / c) or tiny
            fraction *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return front * fraction


def two_sided_p(t, degrees):
    """P(|T| >= |t|) of Student's distribution."""
    return 1.0 if t == 0 else incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t))


@functools.cache
def t_quantile(degrees, level=0.95):
    """The t whose interval -t to t has probability `level`."""
    low, high = 0.0, 1e9
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if two_sided_p(middle, degrees) > 1 - level else (low, middle)
    return (low + high) / 2


def gain(values):
    """Mean, half the width of its t-interval, and the p-value of a mean of 0."""
    n, mean, spread = len(values), statistics.mean(values), statistics.stdev(values)
    if spread == 0:
        return mean, 0.0, float(mean == 0)
    error = spread / math.sqrt(n)
    return mean, t_quantile(n - 1) * error, two_sided_p(mean / error, n - 1)


def fieller(x, y, level=0.95):
    """Ends of the interval of mean(x) / mean(y), values paired; None where it is unbounded."""
    n, mx, my = len(x), statistics.mean(x), statistics.mean(y)
    covariance = sum((a - mx) * (b - my) for a, b in zip(x, y)) / (n - 1)
    g = t_quantile(n - 1, level) ** 2 / n
    a, b, c = my * my - g * statistics.variance(y), mx * my - g * covariance, mx * mx - g * statistics.variance(x)
    if a <= 0:
        return None
    root = math.sqrt(max(b * b - a * c, 0))
    return (b - root) / a, (b + root) / a


def holm(p_values):
    """Adjusted p-values, in the order given."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = largest
    return adjusted


def half_width(values):
    """Of the two-sided 95 % t-interval of the mean; infinite for a single value."""
    return gain(values)[1] if len(values) > 1 else math.inf


def interval(shares, digits=2):
    """Mean and half width of shares, in points."""
    return [round(100 * number, digits) for number in (statistics.mean(shares), half_width(shares))]


def wilson(share, count, z=1.959963984540054):
    """Ends of Wilson's 95 % interval of a share of `count`."""
    middle, scale = share + z**2 / (2 * count), 1 + z**2 / count
    half = z * math.sqrt(share * (1 - share) / count + z**2 / (4 * count**2))
    return (middle - half) / scale, (middle + half) / scale


def welch(mean_a, spread_a, runs_a, mean_b, spread_b, runs_b):
    """The p-value of Welch's test on summaries."""
    of_a, of_b = spread_a**2 / runs_a, spread_b**2 / runs_b
    degrees = (of_a + of_b) ** 2 / (of_a**2 / (runs_a - 1) + of_b**2 / (runs_b - 1))
    return two_sided_p((mean_a - mean_b) / math.sqrt(of_a + of_b), degrees)
