"""pandas DataFrames, if pandas is installed."""

from typing import Any


def frame_of(rows: Any) -> Any:
    try:
        import pandas
    except ImportError:
        raise ImportError("debias: frames need pandas, which is not installed; pip install pandas") from None
    return pandas.DataFrame(rows)
