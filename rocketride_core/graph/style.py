# SPDX-License-Identifier: MIT
"""Colours, in light and in dark."""

from __future__ import annotations

import zlib
from collections.abc import Iterable

__all__ = ["LANES", "ROLES", "lane_colour", "sheet"]

# Family: bar, fill; in light, then in dark.
ROLES = {
    "source": ("#15803d", "#ecfdf3", "#4ade80", "#12261a"),
    "data": ("#475569", "#f3f5f8", "#94a3b8", "#1b222c"),
    "media": ("#be185d", "#fdf0f6", "#f472b6", "#2b1722"),
    "embedding": ("#0f766e", "#e9faf7", "#2dd4bf", "#10272a"),
    "store": ("#92400e", "#fdf5e4", "#fbbf24", "#2a2112"),
    "llm": ("#7c3aed", "#f5f0ff", "#a78bfa", "#211a36"),
    "agent": ("#1d4ed8", "#edf3ff", "#60a5fa", "#152138"),
    "tool": ("#c2410c", "#fff2e9", "#fb923c", "#2b1c12"),
    "memory": ("#0e7490", "#e8f8fc", "#22d3ee", "#10262d"),
    "response": ("#3f6212", "#f4fae4", "#a3e635", "#1e2811"),
    "other": ("#6b7280", "#f6f6f7", "#9ca3af", "#212226"),
}
# Lane: in light, in dark.
LANES = {
    "questions": ("#1d63d8", "#6aa8ff"),
    "answers": ("#15803d", "#4ccf80"),
    "text": ("#94580a", "#e2ac55"),
    "documents": ("#c2410c", "#ff9660"),
    "tags": ("#57606f", "#a9b4c4"),
    "table": ("#0f766e", "#3fd0c0"),
    "image": ("#be185d", "#f57db9"),
    "audio": ("#7c3aed", "#b79cff"),
    "video": ("#a21caf", "#e583f0"),
}
_MORE = [("#4d7c0f", "#a3d94a"), ("#0369a1", "#4fc0f5"), ("#9f1239", "#fb8ba0"), ("#4338ca", "#9aa5ff"), ("#713f12", "#d8b065")]

_LIGHT = """
text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,"DejaVu Sans",sans-serif;fill:#1f2933}
.bg{fill:#ffffff}
.head{font-size:16px;font-weight:600}
.title{font-size:13px;font-weight:600}
.small{font-size:11px}
.soft{fill:#55606e}
.label{font-size:10.5px;paint-order:stroke;stroke:#ffffff;stroke-width:3px;stroke-linejoin:round}
.box{stroke:#c6ccd5;stroke-width:1}
.absent,.missing{stroke:#7b8794;stroke-width:1.2;stroke-dasharray:5 3}
.frame{fill:#64748b;fill-opacity:.06;stroke:#8a97a8;stroke-width:1}
.wire{fill:none;stroke:currentColor;stroke-width:1.8}
.tip{fill:currentColor}
.name{fill:currentColor}
.call{color:#5f6b7a}
.calls{stroke-dasharray:4 3;stroke-width:1.3}
.warning{stroke:#c27803;stroke-width:2}
.error{stroke:#d92d20;stroke-width:2}
.m-warning{fill:#c27803}
.m-error{fill:#d92d20}
.mark{font-size:10px;font-weight:700;fill:#ffffff}
.start{fill:#15803d}
.none{fill:none}
"""
_DARK = """
text{fill:#e3e8ef}
.bg{fill:#0d1117}
.soft{fill:#9fabb9}
.label{stroke:#0d1117}
.box{stroke:#3a4452}
.absent,.missing{stroke:#8996a6}
.frame{fill:#94a3b8;fill-opacity:.07;stroke:#586577}
.call{color:#9aa7b6}
.warning{stroke:#e0a526}
.error{stroke:#f97066}
.m-warning{fill:#e0a526}
.m-error{fill:#f97066}
.mark{fill:#0d1117}
.start{fill:#4ade80}
"""


def lane_colour(name: str) -> tuple[str, str]:
    """In light and in dark; a lane of a third party gets one by its name."""
    return LANES.get(name) or _MORE[zlib.crc32(name.encode("utf-8", "replace")) % len(_MORE)]


def sheet(families: Iterable[str], lanes: Iterable[str]) -> str:
    """The style sheet of a picture; lanes have the classes l0, l1, … in their order."""
    light, dark = [_LIGHT.strip()], [_DARK.strip()]
    for name in families:
        bar, fill, dark_bar, dark_fill = ROLES[name]
        light.append(f".{name}{{fill:{fill}}}\n.b-{name}{{fill:{bar}}}")
        dark.append(f".{name}{{fill:{dark_fill}}}\n.b-{name}{{fill:{dark_bar}}}")
    for n, name in enumerate(lanes):
        one, two = lane_colour(name)
        light.append(f".l{n}{{color:{one}}}")
        dark.append(f".l{n}{{color:{two}}}")
    both = "\n".join(light), "\n".join(dark)
    return f"{both[0]}\n@media (prefers-color-scheme:dark){{\n{both[1]}\n}}"
