"""The classes of faults that tests/inject_faults.py injects, one module for each or for two that are alike."""
