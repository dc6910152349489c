"""What the default settings are worth: every system on every data set of a folder, clean and corrupted."""
