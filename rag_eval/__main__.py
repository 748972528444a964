"""``python -m rag_eval``: the command line."""

from rag_eval.cli import main

if __name__ == "__main__":
    try:
        main()
    finally:
        # Where an interrupt, though caught since, came in code that the library makes from text
        # (of a dataclass, say), Python ends itself by SIGINT in place of the code above. It forgets
        # that once it runs other code from text.
        exec("")
