"""Message tokens: which there are, how they lie in memory, what they hold, and attention among them."""

from detours.nn.tokens.tokens import Tokens

__all__ = ["Tokens"]
