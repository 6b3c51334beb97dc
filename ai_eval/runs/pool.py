"""Threads that work off jobs. A thread that hangs is left behind and replaced."""

import logging
import queue
import threading
from collections.abc import Callable

from ai_eval.failures import readable_traceback
from ai_eval.runs.answering import Abandoned
from ai_eval.runs.jobs import Job

logger = logging.getLogger(__name__)


class Pool:
    """`size` daemon threads. `crashed(job, exception)` is told of a bug in our own code."""

    def __init__(
        self, size: int, work: Callable[[Job], None], crashed: Callable[[Job, BaseException], None]
    ) -> None:
        self.size = size
        self._work = work
        self._crashed = crashed
        self._queue: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._running: dict[int, Job] = {}
        self._submitted = 0
        self._ended = 0
        self._lock = threading.Lock()
        self._threads = 0
        self.left_behind = 0
        """Threads that hang and were replaced; a process that ends with some must not wait for them."""
        self.idle = threading.Event()
        """Set when a thread has ended a job."""

    @property
    def load(self) -> int:
        """Jobs queued or at work."""
        with self._lock:
            return self._submitted - self._ended

    def submit(self, job: Job) -> None:
        with self._lock:
            self._submitted += 1
            if self._threads < min(self.size, self._submitted - self._ended):
                self._start_thread()
        self._queue.put(job)

    def _start_thread(self) -> None:
        self._threads += 1
        threading.Thread(target=self._loop, daemon=True, name=f"ai_eval-{self._threads}").start()

    def _loop(self) -> None:
        me = threading.get_ident()
        while (job := self._queue.get()) is not None:
            self._running[me] = job
            try:
                self._work(job)
            except Abandoned:
                logger.info("answer %s ended after its time, nothing of it counts", job.answer_id)
            except BaseException as error:  # noqa: BLE001 - a thread must not die with its job
                logger.error("answer %s: a fault of the engine\n%s", job.answer_id, readable_traceback())
                self._crashed(job, error)
            finally:
                self._running.pop(me, None)
            with self._lock:
                if job.abandoned:
                    return
                self._ended += 1
            self.idle.set()

    def running(self) -> list[Job]:
        return [job for job in list(self._running.values()) if not job.abandoned]

    def abandon(self, job: Job) -> bool:
        """Take the job from its thread, and replace the thread. False when it just ended."""
        with job.lock:
            if job.abandoned or job not in list(self._running.values()):
                return False
            job.abandoned = True
        with self._lock:
            self._ended += 1
            self.left_behind += 1
            self._start_thread()
        return True

    def close(self) -> None:
        """Let idle threads end."""
        for _ in range(self._threads):
            self._queue.put(None)
