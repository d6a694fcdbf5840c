"""Losses of debias in place of other libraries' losses: `debias.integrations.open_clip`, `debias.integrations.sentence_transformers`.

Each module needs the library that it is named after, and is imported by its name.
"""
