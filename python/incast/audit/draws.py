"""Draws, as docs/network/random.md and routing.md spell them out."""

from __future__ import annotations

WHOLE = 2**64


def mix(x: int) -> int:
    """Applies the finaliser of SplitMix64 with its increment (docs/network/routing.md)."""
    x = (x + 0x9E3779B97F4A7C15) % WHOLE
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % WHOLE
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB % WHOLE
    return x ^ (x >> 31)


def fmix32(h: int) -> int:
    """Applies the finaliser of MurmurHash3 of 32 bits."""
    h = (h ^ (h >> 16)) * 0x85EBCA6B % 2**32
    h = (h ^ (h >> 13)) * 0xC2B2AE35 % 2**32
    return h ^ (h >> 16)
