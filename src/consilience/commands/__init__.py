"""What the command line does: one module per subcommand, and the output they share."""
