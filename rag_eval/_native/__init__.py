"""Compiled kernels; only ``rag_eval.kernels`` and ``rag_eval.text`` import them."""
