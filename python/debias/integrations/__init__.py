"""Adapters that replace other libraries' losses: `debias.integrations.open_clip`, `debias.integrations.sentence_transformers`.

Each module needs the library that it is named after, and must be imported by name.
"""
