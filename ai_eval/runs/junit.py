"""JUnit XML with one case for each gate, for CI servers that show it."""

import re
import xml.etree.ElementTree as ET
from typing import IO

from ai_eval.models import Run
from ai_eval.runs.document import verdict_of
from ai_eval.runs.wording import gate_sentence

_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _clean(text: str) -> str:
    return _NOT_IN_XML.sub("\ufffd", text)


def _case(suite: ET.Element, run: Run) -> str:
    seconds = (
        (run.finished_at - run.started_at).total_seconds() if run.finished_at and run.started_at else 0.0
    )
    case = ET.SubElement(
        suite, "testcase", classname="ai_eval", name=_clean(f"{run.target_slug}: gate"), time=f"{seconds:.3f}"
    )
    verdict = verdict_of(run)
    if verdict is None:
        ET.SubElement(case, "error", message=_clean(f"the run is {run.state}")).text = _clean(run.error)
        return "errors"
    sentence = _clean(gate_sentence(verdict))
    ET.SubElement(case, "system-out").text = "\n".join([sentence, *map(_clean, run.advisories)])
    if verdict.gate is None:
        ET.SubElement(case, "skipped", message="the target has no gate")
        return "skipped"
    if verdict.gate.type == "soft" or verdict.verdict == "passed":
        return "passed"
    if verdict.verdict == "failed":
        ET.SubElement(case, "failure", message=sentence)
        return "failures"
    ET.SubElement(case, "error", message=sentence).text = _clean("\n".join(verdict.undecided_because))
    return "errors"


def write_junit(runs: list[Run], file: IO[bytes]) -> None:
    """One test case a run: failed hard gates are failures, undecided ones and broken runs are errors."""
    suite = ET.Element("testsuite", name="ai_eval", tests=str(len(runs)))
    kinds = [_case(suite, run) for run in runs]
    for kind in ("failures", "errors", "skipped"):
        suite.set(kind, str(kinds.count(kind)))
    ET.ElementTree(suite).write(file, encoding="utf-8", xml_declaration=True)
