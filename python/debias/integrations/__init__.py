"""Losses of debias in the places of other libraries': `debias.integrations.open_clip`, `debias.integrations.sentence_transformers`.

Each module needs the library that it is named after, and is imported by its name.
"""
