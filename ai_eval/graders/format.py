"""Whether a response has the form that its question asks for."""

from collections.abc import Callable, Mapping
from typing import Any

from ai_eval.graders.base import Grader, GradeResult
from ai_eval.graders.json_checks import BadSchema, NotJSON, checked_validator, read_strictly, schema_problems
from ai_eval.graders.markup import formatting, has_html, is_one_fence, open_fence, structure
from ai_eval.graders.patterns import PatternError, PatternTimeout, compile_pattern, found
from ai_eval.graders.registry import register
from ai_eval.text import is_blank
from ai_eval.wording import listed, near, quoted, shown

FORMATS = ("json", "json_object", "json_array", "markdown", "plain_text", "single_line", "regex")
KEYS = ("format", "keys", "schema", "pattern", "max_chars")
JSON_FORMATS = FORMATS[:3]


class Unreadable(ValueError):
    """The question's `expected` is at fault."""


@register
class FormatGrader(Grader):
    """Reads the mapping `expected` of a question; text there, or nothing, is a skip.

    `format` is one of

    - `json`: one JSON value and white space round it, strictly (see `json_checks`); `json_object` and
      `json_array`: one of that kind;
    - `markdown`: at least one construct of Markdown, every code fence closed, and not all of it in one;
    - `plain_text`: no headings, tables, fences, emphasis, links, code, HTML, and no JSON; lists may be;
    - `single_line`: no line break but at its ends;
    - `regex`: `pattern` is found in it.

    Beside it, or alone: `keys` (a list of names that the object has), `schema` (a JSON Schema), both
    of which ask for JSON; `pattern` (library `regex`, found anywhere: anchor it yourself);
    `max_chars` (code points of the response as it came).

    The score is 5 × rules met / rules asked for; each of these five is one rule, `format: regex` and
    its pattern are one together. A response in which a reader sees nothing meets none but a pattern.
    An expectation that can't be read is an error: never a pass, and never the response's fault.
    """

    id = "format_grader"
    label = "Format"
    description = "Deterministic: does the response have the form that the question asks for?"

    def grade(self, question: str, response: str, context: dict[str, Any]) -> GradeResult:
        expected = context.get("expected")
        if not isinstance(expected, Mapping):
            return self.result(None, "no expected.format in context, skipping")
        try:
            if not check_expected(expected):
                return self.result(None, "expected names no rule of form, skipping")
            rules = asked_rules(expected)
            unmet = {}
            for name, rule in rules.items():
                problem = rule(response)
                if problem:
                    unmet[name] = problem
        except (Unreadable, BadSchema) as error:
            return self.result(None, f"the question's expected can't be read: {error}", error=True)
        except PatternTimeout as error:
            return self.result(None, f"can't tell: {error}", error=True)
        met = len(rules) - len(unmet)
        reason = f"{met} of {len(rules)} met: {', '.join(rules)}"
        if unmet:
            reason = f"{met} of {len(rules)} met; " + "; ".join(f"{n}: {why}" for n, why in unmet.items())
        details = {"asked": list(rules), "unmet": unmet}
        return self.result(5.0 * met / len(rules), reason, details=details)


def check_expected(expected: Mapping[str, Any]) -> bool:
    """Whether `expected` asks for a form at all. Unreadable says what is wrong with it."""
    for key in expected:
        meant = near(str(key), KEYS)
        if key not in KEYS and meant:
            raise Unreadable(f"the key {quoted(str(key))} is not known, did you mean {meant}?")
    given = {key: expected[key] for key in KEYS if key in expected}
    for key, value in given.items():
        problem = _PROBLEMS[key](value)
        if problem:
            raise Unreadable(f"{key} {problem}")
    form = given.get("format")
    if form == "regex" and "pattern" not in given:
        raise Unreadable("format is regex, and there is no pattern")
    for key in ("keys", "schema"):
        if key in given and form not in (None, *JSON_FORMATS):
            raise Unreadable(f"{key} asks for JSON, and format is {form}")
    if "keys" in given and form == "json_array":
        raise Unreadable("keys asks for an object, and format is json_array")
    return bool(given)


def _format_problem(value: object) -> str:
    if value in FORMATS:
        return ""
    meant = near(value, FORMATS) if isinstance(value, str) else None
    hint = f", did you mean {meant}?" if meant else f"; known are {listed(FORMATS)}"
    return f"is {shown(value)}, which is not known{hint}"


def _keys_problem(value: object) -> str:
    if isinstance(value, list) and value and all(isinstance(each, str) for each in value):
        return ""
    return f"is {shown(value)}, must be a list of names that is not empty"


def _schema_problem(value: object) -> str:
    checked_validator(value)
    return ""


def _pattern_problem(value: object) -> str:
    if not isinstance(value, str):
        return f"is {shown(value)}, must be a regular expression in quotes"
    try:
        compile_pattern(value)
    except PatternError as error:
        return str(error)
    return ""


def _max_chars_problem(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
        return ""
    return f"is {shown(value)}, must be a whole number from 1 on"


_PROBLEMS: dict[str, Callable[[Any], str]] = {
    "format": _format_problem,
    "keys": _keys_problem,
    "schema": _schema_problem,
    "pattern": _pattern_problem,
    "max_chars": _max_chars_problem,
}

Rule = Callable[[str], str]
"""What is wrong with a response; empty where the rule is met."""


def asked_rules(expected: Mapping[str, Any]) -> dict[str, Rule]:
    """The rules of a checked expectation, by the name under which a reason tells them."""
    form = expected.get("format")
    rules: dict[str, Rule] = {}
    if form in JSON_FORMATS:
        rules[f"format {form}"] = lambda response: json_problem(response, form)
    elif form in _TEXT_RULES:
        rules[f"format {form}"] = _unless_blank(_TEXT_RULES[form])
    if "keys" in expected:
        rules["keys"] = lambda response: keys_problem(response, expected["keys"])
    if "schema" in expected:
        rules["schema"] = lambda response: schema_problem(response, expected["schema"])
    if "pattern" in expected:
        pattern = expected["pattern"]
        rules["pattern"] = lambda response: "" if found(pattern, response) else f"{quoted(pattern)} not found"
    if "max_chars" in expected:
        limit = expected["max_chars"]
        rules["max_chars"] = _unless_blank(
            lambda response: (
                "" if len(response) <= limit else f"expected at most {limit}, found {len(response)}"
            )
        )
    return rules


def _unless_blank(rule: Rule) -> Rule:
    return lambda response: "the response is empty" if is_blank(response) else rule(response)


def json_problem(response: str, form: str) -> str:
    """What keeps `response` from being JSON of the asked kind."""
    try:
        value = read_strictly(response)
    except NotJSON as error:
        return f"is no JSON: {error}"
    kinds: dict[str, tuple[type, str]] = {
        "json_object": (dict, "an object"),
        "json_array": (list, "an array"),
    }
    if form in kinds and not isinstance(value, kinds[form][0]):
        return f"expected {kinds[form][1]}, found {_kind(value)}"
    return ""


def keys_problem(response: str, keys: list[str]) -> str:
    """Which of the names the object in `response` does not have."""
    try:
        value = read_strictly(response)
    except NotJSON as error:
        return f"is no JSON: {error}"
    if not isinstance(value, dict):
        return f"expected an object, found {_kind(value)}"
    missing = [quoted(key) for key in keys if key not in value]
    return f"missing {', '.join(missing)}; found {listed(map(quoted, value)) or 'none'}" if missing else ""


def schema_problem(response: str, schema: Any) -> str:
    """How the JSON in `response` differs from the schema."""
    try:
        value = read_strictly(response)
    except NotJSON as error:
        return f"is no JSON: {error}"
    return ", ".join(schema_problems(value, schema))


def _kind(value: object) -> str:
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "an array"
    return shown(value) if value != "" else "an empty text"


def _markdown(response: str) -> str:
    line = open_fence(response)
    if line:
        return f"the code fence in line {line} is never closed"
    if is_one_fence(response):
        return "all of it stands in one code fence"
    if any(formatting(response)) or any(structure(response)):
        return ""
    return "found no heading, list, emphasis, link, code, table or quotation"


def _plain_text(response: str) -> str:
    there = list(formatting(response))
    if has_html(response):
        there.append("HTML")
    if not there and response.strip()[:1] in ("{", "[") and not json_problem(response, "json"):
        there.append("JSON")
    return f"found {', '.join(there)}" if there else ""


def _single_line(response: str) -> str:
    lines = len(response.strip().splitlines())
    return "" if lines == 1 else f"expected one line, found {lines}"


_TEXT_RULES: dict[str, Rule] = {
    "markdown": _markdown,
    "plain_text": _plain_text,
    "single_line": _single_line,
}
