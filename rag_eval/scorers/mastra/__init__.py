"""Mastra's scorers, quick checks and trajectories under its own names: a run in, a result out.

Scores follow @mastra/evals 1.1.1, and 1.10.2 where a scorer is newer. The judged ones differ as
follows: scores are not rounded; partial options leave the other defaults; a scale must be above 0;
verdicts are compared trimmed and in lower case; a reply that leaves out verdicts is invalid; and
what cannot be measured has a null score instead of the best or worst one. Differences of the others
are described where they are made.
"""

from rag_eval.plumbing.late_names import stubbed_names

__getattr__ = stubbed_names(__name__)
