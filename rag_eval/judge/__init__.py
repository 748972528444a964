"""The judge: prompts, calls and replies of a language model that grades."""
