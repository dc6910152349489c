"""`python -m consilience` is the command `consilience`."""

import sys

from .cli import main

sys.exit(main())
