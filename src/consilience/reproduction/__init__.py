"""The paper's tables and figures, run again: what they are made of, and the data found to make them."""
