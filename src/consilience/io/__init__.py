"""Files: reading what people have, model files, and writing a file as a whole or not at all."""
