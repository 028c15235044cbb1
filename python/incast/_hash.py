"""SHA-256 without the library for encryption, whose import takes a tenth of a short run."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import sha256
else:
    # As the standard library does for its own random numbers; the second is the name before Python 3.12.
    try:
        from _sha2 import sha256
    except ImportError:
        try:
            from _sha256 import sha256
        except ImportError:
            from hashlib import sha256

__all__ = ["sha256"]
