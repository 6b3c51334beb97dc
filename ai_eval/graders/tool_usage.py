"""Whether the agent called the tools that its question asks for."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ai_eval.graders.base import Grader, GradeResult
from ai_eval.graders.registry import register
from ai_eval.graders.tool_expectations import (
    ToolExpectation,
    Unreadable,
    one_line,
    problem_with,
    read_expectations,
)
from ai_eval.wording import listed, shown


@register
class ToolUsageGrader(Grader):
    """Reads `expected_tools` of a question, a list, against the tool-call record.

    An entry is a tool's name, or a mapping with `name` and any of

    - `args`: arguments that one and the same call has, by value or by `{contains: …}`, `{regex: …}`,
      `{any: [alternatives]}`, `{any: true}`; further arguments do not matter;
    - `after`: another tool's name: such a call comes after a call of that one;
    - `times`: the number of such calls, or `{min: …, max: …}`; without it at least one, and as many
      as the same entry stands in the list;

    or with `not`: the name of a tool that must not be called, and `args` where only such calls must
    not be. A name is that of the function or of the plug-in. Further calls do not matter.

    The score is 5 × satisfied / asked, and the reason names every unsatisfied entry. An entry that
    can't be read is unsatisfied. So is one that turns on an argument that was redacted or cut.

    Without a record, a name alone is looked up in the response as a whole word, and everything else
    is unsatisfied; `FALLBACK_MARKER` in the reason says so.
    """

    id = "tool_usage_grader"
    label = "Tool usage"
    description = "Deterministic: did the agent call the expected tools, as its tool-call record tells?"
    observes_actions = True

    FALLBACK_MARKER = "no tool-call record available"

    def grade(self, question: str, response: str, context: dict[str, Any]) -> GradeResult:
        entries = context.get("expected_tools")
        if entries is None or entries == []:
            return self.result(None, "no expected_tools in context, skipping")
        if not isinstance(entries, list):
            problem = f"the question's expected_tools is {shown(entries)}, must be a list of tools"
            return self.result(None, problem, error=True)
        expectations = read_expectations(entries)
        if "tool_calls" not in context:
            problems = [self.problem_in_text(each, response) for each in expectations]
            source = (
                f" ({self.FALLBACK_MARKER}: names alone were looked up in the response, "
                "which shows what it says and not what was done)"
            )
            return self.scored(expectations, problems, source)
        calls = context["tool_calls"]
        if not isinstance(calls, list):
            problem = f"the tool-call record is {type(calls).__name__}, must be a list of calls"
            return self.result(None, problem, error=True)
        problems = [
            each.problem if isinstance(each, Unreadable) else problem_with(each, calls)
            for each in expectations
        ]
        return self.scored(expectations, problems, f" (from the tool-call record: {summary(calls)})")

    def problem_in_text(self, expectation: ToolExpectation | Unreadable, response: str) -> str:
        """What is unsatisfied where there is no record."""
        if isinstance(expectation, Unreadable):
            return expectation.problem
        if not expectation.plain:
            return f"expected {expectation.wanted}, found no record, and only a record can tell"
        whole_word = rf"(?<!\w){re.escape(expectation.name)}(?!\w)"
        if re.search(whole_word, response):
            return ""
        return "expected a call, found no mention in the response"

    def scored(
        self,
        expectations: Sequence[ToolExpectation | Unreadable],
        problems: Sequence[str],
        source: str,
    ) -> GradeResult:
        told = [
            {"asked": each.label, "problem": problem}
            for each, problem in zip(expectations, problems, strict=True)
        ]
        unsatisfied = [f"{each['asked']}: {each['problem']}" for each in told if each["problem"]]
        satisfied = len(told) - len(unsatisfied)
        reason = f"{satisfied} of {len(told)} satisfied{source}"
        if unsatisfied:
            reason = "; ".join([reason, *unsatisfied])
        return self.result(5.0 * satisfied / len(told), reason, details={"expectations": told})


def summary(calls: Sequence[Any]) -> str:
    """`look_up, renew ×2`, or that nothing was called."""
    if not calls:
        return "the agent called nothing"
    names = Counter(
        one_line(str(call.get("function_name") or call.get("plugin_id")))
        if isinstance(call, Mapping)
        else "?"
        for call in calls
    )
    return listed(f"{name} ×{count}" if count > 1 else name for name, count in names.items())
