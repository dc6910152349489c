"""`consilience compare`: every system on the same files, and how well they agree."""
