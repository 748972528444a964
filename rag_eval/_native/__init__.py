"""Compiled kernels; only ``rag_eval.kernels.scoring`` and ``rag_eval.text`` import them."""
