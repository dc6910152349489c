"""Around a fit: progress, checkpoints, memory, configuration, and warnings that name the caller's line."""
