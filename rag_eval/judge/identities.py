"""Who a judge is: what its verdicts are signed and cached under."""

from __future__ import annotations

from rag_eval.judge.replies import JudgeFn, JudgeIdentity, SchemaJudge

UNNAMED = "unnamed"


def identity_of(judge: JudgeFn | SchemaJudge, place: int = 0) -> JudgeIdentity:
    """The identity of a judge.

    An adapter's judge knows its own. A function is called by its attribute ``judge_name``; one
    without is unnamed, its replies are not cached, and of several the ``place`` tells them apart.
    """
    if isinstance(judge, SchemaJudge):
        return judge.identity
    name = getattr(judge, "judge_name", None)
    if isinstance(name, str) and name:
        return JudgeIdentity("callable", name)
    return JudgeIdentity("callable", UNNAMED if place == 0 else f"{UNNAMED}-{place + 1}")


def is_named(identity: JudgeIdentity) -> bool:
    """Whether replies of the judge can be told from those of another, and so be cached."""
    return identity.provider != "callable" or not identity.model.startswith(UNNAMED)
