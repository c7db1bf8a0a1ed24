"""``python -m collector`` is the ``toolscore`` command."""

import sys

from collector.cli import main

sys.exit(main())
