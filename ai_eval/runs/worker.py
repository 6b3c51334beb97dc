"""The one loop that works off a run. The run command, local processes and Celery tasks start it.

The coordinator (the thread that calls `step`) is the only one that keeps books in the database: it
claims, counts starts, stores what came, renews leases. Worker threads ask and grade.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable

from django.db import InterfaceError, OperationalError, connection

from ai_eval.conf import SiteSettings, site_settings
from ai_eval.errors import EvalError
from ai_eval.failures import described, readable_traceback
from ai_eval.models import Run
from ai_eval.runs import claims
from ai_eval.runs.answering import Answering, close_raw
from ai_eval.runs.ask import failed
from ai_eval.runs.finish import announce, end_in_error, finish_if_done, start_if_pending
from ai_eval.runs.jobs import AskedEvent, EndedEvent, Event, GivenBackEvent, GradedEvent, Job
from ai_eval.runs.pool import Pool
from ai_eval.runs.spec import RunSpec, read_spec
from ai_eval.runs.writer import Inbox, flush, store_apart

logger = logging.getLogger(__name__)

FLUSH_SECONDS = 0.25
"""The longest that a paid reply waits before it is stored, beside the time of the write itself."""
STATE_SECONDS = 0.25
POLL_SECONDS = 0.25
DRAIN_SECONDS = 10.0
"""How long a worker that was told to stop waits for the calls in flight."""
MAX_BATCH = 256
GIVE_UP_SECONDS = 120.0
"""How long a worker puts up with a database that does not answer."""


def bound_idle_transactions(seconds: float) -> None:
    """A worker that is stopped in the middle of a write must not keep its rows locked for ever.

    SQLite has no such setting: there the others wait for its lock, and go on when it ends.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f"SET idle_in_transaction_session_timeout = {int(seconds * 1000):d}")


class Worker:
    """Works on one run until nothing of it waits, it is stopped, or `stop` is called."""

    def __init__(self, run_id: int, site: SiteSettings | None = None) -> None:
        self.run_id = run_id
        self.site = site or site_settings()
        self.inbox = Inbox()
        self.stopping = threading.Event()
        self.pool = Pool(self.site.concurrency, self._answer, self._crashed)
        self._spec: RunSpec | None = None
        self._backlog: deque[Job] = deque()
        self._held: dict[int, Job] = {}
        self._unsaved: list[Event] = []
        self._alone = False
        self._new_connection = True
        self._crashing = False
        self._failing_since: float | None = None
        self._depth = self._ahead()
        self._last_batch = 0
        self._last_flush = self._last_state = self._last_renewal = time.monotonic()

    @property
    def spec(self) -> RunSpec:
        assert self._spec is not None
        return self._spec

    def stop(self) -> None:
        """Ask for an orderly end: calls in flight are waited for, the rest is given back."""
        self.stopping.set()
        self.inbox.arrived.set()

    def run(self, on_step: Callable[[], None] | None = None) -> None:
        """Work until nothing is left to do here. `on_step` is called between steps."""
        if not start_if_pending(self.run_id):
            return
        try:
            self._spec = read_spec(Run.objects.get(pk=self.run_id))
        except EvalError as error:
            end_in_error(self.run_id, str(error))
            return
        try:
            while self._step_in_spite_of_the_database():
                if on_step is not None:
                    on_step()
        except BaseException:
            self._crashing = True  # what it had begun counts as started: it may be what crashes
            raise
        finally:
            self.drain()
        if finish_if_done(self.run_id):
            announce(self.run_id)

    def _step_in_spite_of_the_database(self) -> bool:
        """A step; when the database does not answer, another one after a while."""
        try:
            if self._new_connection:
                bound_idle_transactions(self.site.lease_seconds)
                self._new_connection = False
            more = self.step()
            self._failing_since = None
            return more
        except (OperationalError, InterfaceError):
            now = time.monotonic()
            self._failing_since = self._failing_since or now
            if now - self._failing_since > GIVE_UP_SECONDS:
                raise
            logger.exception("run %s: the database does not answer, trying again", self.run_id)
            connection.close()
            self._new_connection = True
            time.sleep(POLL_SECONDS)
            return True

    def step(self) -> bool:
        """One turn: supervise, claim, store, start. False when there is nothing more to do."""
        self._look_at_state()
        if self.stopping.is_set():
            return False
        self._supervise()
        room = self._room()
        if room and not self._backlog:
            self._claim(room)
        starting = [self._backlog.popleft() for _ in range(min(room, len(self._backlog)))]
        if starting or self._flush_is_due():
            self._store(starting)
        self._renew()
        if not self._held and not self._unsaved and not len(self.inbox):
            return self._wait_for_others()
        self._wait()
        return True

    def _room(self) -> int:
        """How many jobs may be started now. The queue before the threads grows while they outrun it."""
        load = self.pool.load
        if self._alone:
            return 0 if load else 1
        if load == 0 and self._last_batch >= self._depth:
            self._depth = min(self._depth * 2, MAX_BATCH)
        elif load > self.site.concurrency:
            self._depth = max(self._depth - self.site.concurrency, self._ahead())
        return max(0, self._depth - load)

    def _ahead(self) -> int:
        """Threads, and a few jobs more, so that no thread waits for the coordinator's next turn."""
        return self.site.concurrency + max(2, self.site.concurrency // 4)

    def _claim(self, room: int) -> None:
        lease = self.site.lease_seconds
        taken = claims.claim_slice(self.run_id, max(room, min(4 * room, MAX_BATCH)), lease)
        self._alone = False
        if not taken and not self._held:
            taken = claims.claim_slice(self.run_id, 1, lease, started_before=True)
            self._alone = bool(taken)
        for claim in taken:
            job = Job.of(claim)
            self._held[job.answer_id] = job
            if claim.starts >= claims.MAX_STARTS:
                self._give_up(job)
            else:
                self._backlog.append(job)

    def _give_up(self, job: Job) -> None:
        asked = failed(
            "target_error", f"the answer was started {job.claim.starts} times and ended its worker each time"
        )
        job.asked = asked
        self.inbox.put(AskedEvent(job, asked), EndedEvent(job))

    def _answer(self, job: Job) -> None:
        Answering(self.spec, job, self.inbox.put, self.stopping.is_set).run()

    def _crashed(self, job: Job, error: BaseException) -> None:
        """A bug of ours ends the answer as missing: given back, it would come round again for ever."""
        problem = f"a fault of the engine: {described(error)}"
        events: list[Event] = []
        if job.asked is None:
            job.asked = failed("provider_error", problem)
            events.append(AskedEvent(job, job.asked))
        elif not job.asked.failure:
            for info in self.spec.graders:
                if info.id not in job.grades:
                    job.grades[info.id] = info.error(problem)
                    events.append(GradedEvent(job, job.grades[info.id]))
        self.inbox.put(*events, EndedEvent(job))

    def _flush_is_due(self) -> bool:
        waiting = len(self.inbox) + len(self._unsaved)
        return bool(waiting) and (
            time.monotonic() - self._last_flush >= FLUSH_SECONDS or waiting >= MAX_BATCH or not self.pool.load
        )

    def _store(self, starting: list[Job]) -> None:
        """Store what came, then start what was counted as started."""
        events = [*self._unsaved, *self.inbox.drain()]
        self._last_flush = time.monotonic()
        try:
            begun = flush(events, starting, self.spec.rules)
        except (OperationalError, InterfaceError):
            # Kept and sent again: the fence drops what somebody else took meanwhile.
            self._unsaved = events
            self._backlog.extendleft(reversed(starting))
            raise
        except Exception:  # noqa: BLE001 - something that came can't be stored: found answer by answer
            logger.error("run %s: storing failed\n%s", self.run_id, readable_traceback())
            store_apart(events, self.spec.rules)
            begun = flush([], starting, self.spec.rules)
        self._unsaved = []
        for event in events:
            if isinstance(event, EndedEvent | GivenBackEvent):
                self._held.pop(event.job.answer_id, None)
        started = {job.answer_id for job in begun}
        if starting:
            self._last_batch = len(begun)
        for job in starting:
            if job.answer_id in started:
                self.pool.submit(job)
            else:
                self._held.pop(job.answer_id, None)

    def _supervise(self) -> None:
        """What takes too long in its thread is ended: the agent's failure, or an error of that grade."""
        for job in self.pool.running():
            if not job.overdue() or not self.pool.abandon(job):
                continue
            logger.warning("answer %s: %s took too long and was left behind", job.answer_id, job.phase)
            for each in job.connections:
                # An open transaction of a thread that hangs would keep everybody else from writing.
                close_raw(each)
            next_job = job.continued()
            self._held[job.answer_id] = next_job
            if next_job.asked is None:
                self._ask_took_too_long(next_job, job)
            else:
                self._grade_took_too_long(next_job, job.phase)
            self.pool.submit(next_job)

    def _ask_took_too_long(self, job: Job, hung: Job) -> None:
        """The agent's failure, unless it had ended and something else hangs round it."""
        limit = self.spec.ask_limit
        problem = f"it took longer than the time limit of {limit:g} s"
        calls = hung.recorder.calls
        if hung.phase == "ask":
            failure = "target_error" if self.spec.mode == "agent" else "provider_error"
            job.asked = failed(failure, problem, seconds=limit, tool_calls=calls)
        elif hung.phase == "environment" or hung.inside is None:
            job.asked = failed("provider_error", f"the environment: {problem}", tool_calls=calls)
        else:
            job.asked = hung.inside
        self.inbox.put(AskedEvent(job, job.asked))
        if job.asked is hung.inside:
            self._grade_took_too_long(job, hung.phase)

    def _grade_took_too_long(self, job: Job, phase: str) -> None:
        info = next(info for info in self.spec.graders if info.id == phase)
        limit = self.spec.grade_limit(info)
        result = info.error(f"it took longer than its time limit of {limit:g} s")
        job.grades[phase] = result
        self.inbox.put(GradedEvent(job, result))

    def _renew(self) -> None:
        if time.monotonic() - self._last_renewal < self.site.lease_seconds / 4:
            return
        self._last_renewal = time.monotonic()
        tokens = {pk: job.token for pk, job in self._held.items() if not job.overdue()}
        if tokens:
            claims.renew(tokens, self.site.lease_seconds)

    def _look_at_state(self) -> None:
        if time.monotonic() - self._last_state < STATE_SECONDS:
            return
        self._last_state = time.monotonic()
        state = Run.objects.filter(pk=self.run_id).values_list("state", flat=True).first()
        if state != Run.State.RUNNING:
            self.stop()

    def _wait(self) -> None:
        """Until something ended, or a turn is due."""
        self.inbox.arrived.wait(0.02)
        if self.pool.load > self.site.concurrency // 2:
            # A moment more, so that one transaction stores what ends at about the same time.
            self.pool.idle.clear()
            self.pool.idle.wait(0.01)

    def _wait_for_others(self) -> bool:
        """Nothing to claim: done, or the rest is in other hands. False when nothing is outstanding."""
        if not claims.outstanding(self.run_id).exists():
            return False
        self.inbox.arrived.wait(POLL_SECONDS)
        self.inbox.arrived.clear()
        return True

    def drain(self) -> None:
        """Store all that came, wait a while for calls in flight, give the rest back."""
        self.stopping.set()
        unstarted = {job.answer_id: job.token for job in self._backlog}
        self._backlog.clear()
        until = time.monotonic() + DRAIN_SECONDS
        while self.pool.load and time.monotonic() < until:
            self._supervise()
            if self._flush_is_due():
                self._store([])
            self.inbox.arrived.wait(0.05)
        while (len(self.inbox) or self._unsaved) and time.monotonic() < until + DRAIN_SECONDS:
            self._store([])
        self.pool.close()
        if unstarted:
            claims.give_back(unstarted, started=False)
        left = {pk: job.token for pk, job in self._held.items() if pk not in unstarted}
        if left:
            claims.give_back(left, started=not self._crashing)
