"""The pages of judges as a test opens and fills them."""

from typing import Any

from django.urls import reverse

LIST = "/admin/ai_eval/judgesettings/"
RELEVANCE = "relevance_grader"
PROMPT = "Judge $dimension.\n$question\n$criteria\n$response"
VERDICT = '{"score": 5, "reason": "says where it is"}'


def judge(id: str = RELEVANCE) -> str:
    return reverse("admin:ai_eval_judge", args=[id])


def preview(id: str = RELEVANCE) -> str:
    return reverse("admin:ai_eval_judge_preview", args=[id])


def typed(**fields: Any) -> dict[str, Any]:
    return {"model": "", "api_base": "", "parameters": "", "prompt": "", "seen": "", **fields}
