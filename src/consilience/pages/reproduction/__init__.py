"""The page of the reproduction: verdicts, tables, figures, and how it was made."""
