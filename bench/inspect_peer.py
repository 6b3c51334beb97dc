"""The same calls in Inspect AI, in an environment of its own (see bench/requirements-inspect.txt).

    python bench/inspect_peer.py BASE_URL QUESTIONS CONNECTIONS

Prints the wall time in seconds of `eval`, imports not counted.
"""

import os
import sys
import tempfile
import time

base_url, questions, connections = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
os.environ.update(LOCAL_API_KEY="none", LOCAL_BASE_URL=base_url)

from inspect_ai import Task, eval  # noqa: E402
from inspect_ai.dataset import MemoryDataset, Sample  # noqa: E402
from inspect_ai.model import get_model  # noqa: E402
from inspect_ai.scorer import model_graded_qa  # noqa: E402
from inspect_ai.solver import generate  # noqa: E402

samples = [
    Sample(id=n, input=f"Question {n}: where is book {n}?", target="a place") for n in range(1, questions + 1)
]
task = Task(dataset=MemoryDataset(samples), solver=generate(), scorer=model_graded_qa())
begun = time.perf_counter()
(log,) = eval(
    task,
    model=get_model("openai-api/local/mock"),
    display="none",
    log_dir=tempfile.mkdtemp(),
    max_connections=connections,
    max_samples=connections,
)
seconds = time.perf_counter() - begun
assert log.status == "success", log.error
print(f"{seconds:.3f}")
