# SPDX-License-Identifier: MIT
"""The test kit for authors of stores: what every backend must do, a proxy that breaks connections, a corpus with its ranking.

```python
class TestMine(StoreSuite):
    def make(self, folder: Path) -> VectorStore:
        return MyBackend(folder)
```
"""

from .chunks import chunk, keys, vector
from .proxy import FaultProxy
from .ranking import QUESTIONS, corpus, embedded, expected
from .suite import StoreSuite

__all__ = ["QUESTIONS", "FaultProxy", "StoreSuite", "chunk", "corpus", "embedded", "expected", "keys", "vector"]
