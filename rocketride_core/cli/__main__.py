# SPDX-License-Identifier: MIT
"""`python -m rocketride_core.cli` is `rocketride-core`."""

from __future__ import annotations

import sys

from . import main

if __name__ == "__main__":
    sys.exit(main())
