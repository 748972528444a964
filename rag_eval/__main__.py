"""``python -m rag_eval``: the command line."""

from rag_eval.cli import main

if __name__ == "__main__":
    main()
