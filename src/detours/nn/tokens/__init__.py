"""Message tokens: their sets, layout in memory, contents, and attention among them."""

from detours.nn.tokens.tokens import Tokens

__all__ = ["Tokens"]
