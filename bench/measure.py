"""`make bench`: measures this project, and its peers beside it on the same server in the same run.

    python bench/measure.py [--quick] [--repeats N] [--only CASE …]

Prints a table and stores all figures under bench/results/. A ratio is taken between neighbours of one
repeat, and the median of the ratios is shown, so that a machine that slows down does not decide.
"""

import argparse
import contextlib
import json
import os
import platform
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PEER = ROOT / "var" / "inspect" / "bin" / "python"
PROCESSES = 2


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def server(latency: float = 0.0):
    port = free_port()
    process = subprocess.Popen([sys.executable, ROOT / "bench" / "server.py", str(port), str(latency)])
    try:
        for _ in range(200):
            with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/stats"):
                break
            time.sleep(0.05)
        yield port
    finally:
        process.kill()
        process.wait()


def stats(port: int) -> dict:
    """What the server saw since it was last asked."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/stats") as answer:
        return json.load(answer)


def in_site(
    arguments: list[str], concurrency: int = 1, judge_url: str = "", script: str = "one_run.py"
) -> dict:
    """What a script of bench/ prints of a fresh site on SQLite."""
    with tempfile.TemporaryDirectory() as var:
        environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "bench.settings",
            "PYTHONPATH": str(ROOT),
            "VAR_DIR": var,
            "SECRET_KEY": "only-for-the-benchmark",
            "AI_EVAL_CONCURRENCY": str(concurrency),
            "AI_EVAL_JUDGE_MODEL": "openai/mock",
            "AI_EVAL_JUDGE_API_BASE": judge_url,
        }
        environment.pop("DATABASE_URL", None)
        run = [sys.executable, "-m", "django", "migrate", "--verbosity", "0"]
        subprocess.run(run, env=environment, check=True, cwd=ROOT)
        command = [sys.executable, str(ROOT / "bench" / script), *arguments]
        printed = subprocess.run(
            command, env=environment, check=True, cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        return json.loads(printed.stdout.splitlines()[-1])


def noop(questions: int) -> dict:
    """Stored answers a second with an agent and a grader that cost nothing."""
    measured = in_site(["noop", str(questions), str(PROCESSES)], concurrency=16)
    return {
        "questions": questions,
        "answers_a_second": questions / measured["run_seconds"],
        "launch_seconds": measured["launch_seconds"],
        "whole_seconds": measured["whole_seconds"],
    }


def judged(questions: int, threads: int = 16) -> dict:
    """Chat mode and one judge beside a bare litellm loop and Inspect AI, on a server without latency.

    `…_seconds` count from the first call to the last reply, `…_whole_seconds` from the start of the
    processes on, imports and all.
    """
    with server() as port:
        url = f"http://127.0.0.1:{port}/v1"
        ours = in_site(["judged", str(questions), str(PROCESSES), url], threads, url)
        ours_calls = stats(port)["seconds"]
        begun = time.perf_counter()
        loop = [sys.executable, str(ROOT / "bench" / "bare_loop.py"), url, str(questions), str(PROCESSES)]
        bare = subprocess.run([*loop, str(threads)], check=True, capture_output=True, text=True)
        bare_whole = time.perf_counter() - begun
        found = {
            "questions": questions,
            "ours_seconds": ours_calls,
            "ours_whole_seconds": ours["whole_seconds"],
            "bare_seconds": float(bare.stdout),
            "bare_whole_seconds": bare_whole,
            "ratio_to_bare": ours_calls / float(bare.stdout),
            "whole_ratio_to_bare": ours["whole_seconds"] / bare_whole,
            "ours_samples_a_second": questions / ours_calls,
            "bare_samples_a_second": questions / float(bare.stdout),
        }
        if PEER.exists():
            script = [PEER, ROOT / "bench" / "inspect_peer.py", url, str(questions), str(threads * PROCESSES)]
            peer = float(subprocess.run(script, check=True, capture_output=True, text=True).stdout)
            found["inspect_samples_a_second"] = questions / peer
            found["times_inspect"] = peer / ours_calls
            found["bare_times_inspect"] = peer / float(bare.stdout)
        return found


def latency(questions: int, in_flight: int = 50, seconds: float = 0.2) -> dict:
    """How close a run comes to the ideal when all it can do is wait for the model, from its first call on."""
    with server(seconds) as port:
        url = f"http://127.0.0.1:{port}/v1"
        ours = in_site(["judged", str(questions), str(PROCESSES), url], in_flight // PROCESSES, url)
        seen = stats(port)
        loop = [sys.executable, str(ROOT / "bench" / "bare_loop.py"), url, str(questions), str(PROCESSES)]
        bare = subprocess.run(
            [*loop, str(in_flight // PROCESSES)], check=True, capture_output=True, text=True
        )
    ideal = questions * 2 * seconds / in_flight
    return {
        "questions": questions,
        "ideal_seconds": ideal,
        "ours_seconds": seen["seconds"],
        "ours_whole_seconds": ours["whole_seconds"],
        "ratio_to_ideal": seen["seconds"] / ideal,
        "bare_ratio_to_ideal": float(bare.stdout) / ideal,
        "peak_in_flight": seen["peak"],
    }


def check() -> dict:
    """`manage.py check`: processor time, and whether it imported litellm."""
    code = (
        "import sys, django; from django.core.management import call_command; django.setup();"
        "call_command('check'); print('litellm' in sys.modules)"
    )
    with tempfile.TemporaryDirectory() as var:
        environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "evalsite.settings", "VAR_DIR": var}
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        printed = subprocess.run(
            [sys.executable, "-c", code],
            env=environment,
            check=True,
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"cpu_seconds": cpu, "imports_litellm": printed.stdout.splitlines()[-1] == "True"}


def pages(answers: int, targets: int, runs: int) -> dict:
    """Server time of the admin's pages, in milliseconds: a run of many answers, targets with many runs."""
    return in_site([str(answers), str(targets), str(runs)], script="pages.py")


def median_of(repeats: list[dict]) -> dict:
    return {
        key: value if isinstance(value, bool) else statistics.median(each[key] for each in repeats)
        for key, value in repeats[0].items()
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="a tenth of the questions")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=[])
    options = parser.parse_args()
    scale = 10 if options.quick else 1
    cases = {
        "check": check,
        "noop": lambda: noop(5000 // scale),
        "judged": lambda: judged(2000 // scale),
        "latency": lambda: latency(1000 // scale),
        "pages": lambda: pages(20_000 // scale, 200 // scale, 1000 // scale),
    }
    figures = {}
    for name, case in cases.items():
        if options.only and name not in options.only:
            continue
        repeats = [case() for _ in range(options.repeats)]
        figures[name] = {"median": median_of(repeats), "repeats": repeats}
        print(f"{name}: {case.__doc__ or globals()[name].__doc__}")
        for key, value in figures[name]["median"].items():
            print(f"  {key:28} {value if isinstance(value, bool) else f'{value:.4g}'}")
    document = {
        "when": datetime.now(UTC).isoformat(),
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "versions": {name: version(name) for name in ("django", "litellm")},
        "processes": PROCESSES,
        "figures": figures,
    }
    results = ROOT / "bench" / "results"
    results.mkdir(exist_ok=True)
    path = results / f"{datetime.now(UTC):%Y%m%d-%H%M%S}.json"
    path.write_text(json.dumps(document, indent=1))
    print(f"stored in {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
