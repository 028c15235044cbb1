"""Incast: a laboratory for datacenter congestion control."""

from incast._core import __version__

__all__ = ["__version__"]
