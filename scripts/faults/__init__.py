"""The classes of faults that scripts/inject_faults.py injects, one module for each or for two that are alike."""
