"""Files: reading data files, model files, and writing a file completely or not at all."""
