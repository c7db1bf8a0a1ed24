"""``python -m collector`` is the ``rightcall`` command."""

import sys

from collector.cli import main

sys.exit(main())
