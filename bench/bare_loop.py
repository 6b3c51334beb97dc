"""The same calls in a bare litellm loop: what a run costs without an evaluation round it.

    python bench/bare_loop.py BASE_URL QUESTIONS PROCESSES THREADS

Each question is two calls in a row, one answer and one verdict on it, with prompts as long as ours.
Prints the wall time in seconds from the first call on, imports not counted.
"""

import multiprocessing
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor

JUDGE_PROMPT_CHARACTERS = 2000


def work(base_url, numbers, threads, ready, go):
    os.environ.update(LITELLM_LOCAL_MODEL_COST_MAP="True", LITELLM_MODE="PRODUCTION", LITELLM_LOG="ERROR")
    import litellm

    litellm.suppress_debug_info = True
    judge = "Give a score. " + "x" * JUDGE_PROMPT_CHARACTERS

    def call(content):
        return litellm.completion(
            model="openai/mock",
            messages=[{"role": "user", "content": content}],
            api_base=base_url,
            api_key="none",
            temperature=0,
            max_retries=0,
        )

    def question(number):
        answer = call(f"Question {number}: where is book {number}?").choices[0].message.content
        call(f"{judge}\n{answer}")

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(question, numbers[:threads]))
        ready.wait()
        go.wait()
        list(pool.map(question, numbers))


def main():
    base_url, questions, processes, threads = sys.argv[1], *map(int, sys.argv[2:5])
    context = multiprocessing.get_context("spawn")
    ready, go = context.Barrier(processes + 1), context.Barrier(processes + 1)
    shares = [list(range(start, questions, processes)) for start in range(processes)]
    children = [context.Process(target=work, args=(base_url, share, threads, ready, go)) for share in shares]
    for child in children:
        child.start()
    ready.wait()
    begun = time.perf_counter()
    go.wait()
    for child in children:
        child.join()
        assert child.exitcode == 0
    print(f"{time.perf_counter() - begun:.3f}")


if __name__ == "__main__":
    main()
