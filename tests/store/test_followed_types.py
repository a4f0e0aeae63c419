"""Types of what people follow: labels, domains and owners are read only if any is followed."""

from __future__ import annotations
