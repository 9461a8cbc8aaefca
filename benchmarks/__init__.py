# SPDX-License-Identifier: MIT
"""Our speed beside a plain Python loop and beside the peers that are installed; `python -m benchmarks --help`."""
