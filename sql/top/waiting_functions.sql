-- Where the threads of each stack wait, and whether they wait for work.
--
-- The scheduler's own functions are on top of every wait, so are glibc 2.41's for each blocking call. What a program called
-- to wait is the last function of libc below them (`call`). The function that explains the wait (`waits_in`) is the first
-- outside of libc, of the C++ library and of the runtime's scheduler, and below what a program has for any kind of wait
-- (`is_plumbing`: XactLockTableWait of PostgreSQL, and not WaitLatch). One without a name is skipped if a caller has one.
--
-- A thread waits for work (`is_idle`)
--   in a function of a known runtime or program in which its idle threads wait (`is_loop`),
--   called by a known loop, which also calls the functions that work (`is_outer_loop`),
--   in a call that only loops make: epoll_wait, accept, sigwait; or to wait for a child or a thread to end,
--   in a condition variable, a semaphore, a futex or poll() that at most two functions separate from the thread's root;
-- and not where one of the functions is known to wait for a lock, a timer or another process (`is_cause`).
CREATE OR REPLACE TEMP TABLE traits AS
SELECT
    id,
    module = '[kernel]' AND (contains(name, 'schedule') OR name = '__cond_resched')
        OR name IN ('__syscall_cancel_arch', '__internal_syscall_cancel', '__syscall_cancel') AS is_of_waiting,
    regexp_matches(module, '^(libc|libpthread|libstdc\+\+|libc\+\+|ld-linux.*|ld-musl.*|libc\.musl.*)\.so') AS is_of_libc,
    is_of_libc OR starts_with(name, 'runtime.') OR starts_with(name, 'internal/runtime/') OR module = 'libjvm.so'
        OR starts_with(name, 'std::sys::') OR starts_with(name, 'std::thread::park')
        OR regexp_matches(
            name, '^(Java_|sun\.nio\.|jdk\.internal\.misc\.|java\.util\.concurrent\.locks\.|java\.lang\.Object\.wait)')
        OR module IN ('threading.py', 'queue.py', 'selectors.py')
        OR regexp_matches(
            module, '^(lib)?python3[0-9.]*(\.so|$)|^(_socket|select|_ssl|_queue|_io)\.cpython-') AS is_of_runtime,
    starts_with(name, '+') OR name = '[no symbol]' AS is_unnamed,
    name IN (
        '__libc_start_call_main', '__libc_start_main', '__libc_start_main_impl', 'start_thread', 'clone', 'clone3',
        '__clone3', '_start') AS is_root,
    name IN (
        'WaitEventSetWait', 'WaitEventSetWaitBlock', 'WaitLatch', 'WaitLatchOrSocket', 'ProcSleep', 'WaitOnLock',
        'LockAcquireExtended', 'LockAcquire', 'PGSemaphoreLock', 'LWLockAcquire', 'LWLockAcquireOrWait',
        'ConditionVariableSleep', 'ConditionVariableTimedSleep', 'ProcWaitForSignal') AS is_plumbing,
    name IN (
        'ProcSleep', 'LWLockAcquire', 'LWLockAcquireOrWait', 'ConditionVariableSleep', 'ConditionVariableTimedSleep',
        'ProcWaitForSignal', 'SyncRepWaitForLSN', 'pg_sleep', 'shm_mq_receive', 'libpqrcv_receive') AS is_cause,
    name IN (
        -- HotSpot
        'VMThread::run', 'WatcherThread::run', 'WorkerThread::run', 'GangWorker::run', 'CompileQueue::get',
        'ConcurrentGCThread::run', 'ServiceThread::service_thread_entry', 'signal_thread_entry',
        'MonitorDeflationThread::monitor_deflation_thread_entry',
        -- Go
        'runtime.stopm', 'runtime.findRunnable', 'runtime.findrunnable', 'runtime.sysmon', 'runtime.templateThread',
        -- CPython
        'SyncWorker.wait', 'Arbiter.sleep', 'Arbiter.wait_for_signals', 'Thread.join', 'Thread._wait_for_tstate_lock',
        -- the kernel's, for threads without a user stack
        'ep_poll', 'inet_csk_accept', 'do_sigtimedwait', 'sigsuspend', 'do_wait', 'io_cqring_wait')
        OR contains(name, 'ThreadPoolExecutor.getTask') OR contains(name, 'ForkJoinPool.awaitWork')
        OR contains(name, 'DelayedWorkQueue.take') OR contains(name, 'Reference.waitForReferencePendingList')
        OR contains(name, 'ReferenceQueue.remove') OR contains(name, 'TimerThread.mainLoop')
        OR contains(name, 'rayon_core::sleep') OR contains(name, 'worker::Context::park')
        OR contains(name, 'PlatformWorkerThread') AS is_loop,
    name IN (
        'ngx_epoll_process_events', 'uv__io_poll', 'event_base_loop', 'g_main_context_iterate', 'g_main_loop_run',
        'aeProcessEvents', 'main_loop_wait', 'qemu_poll_ns', 'PostmasterMain', 'server_loop2', 'BaseEventLoop._run_once',
        'BaseServer.serve_forever', 'Arbiter.run')
        OR name = '_worker' AND module = 'thread.py' AS is_outer_loop,
    is_of_libc AND regexp_matches(
        name, '^_*(epoll_p?wait2?|accept4?|sigwait(info)?|sigtimedwait|sigsuspend|io_getevents|wait4|waitid|waitpid|'
            || 'pthread_(timed|clock)?join.*|libc_accept4?)$') AS is_loop_call,
    is_of_libc AND regexp_matches(
        name, '^_*(p?poll|p?select|(new_)?sem_(timed|clock)?wait.*|pthread_cond_(timed|clock)?wait.*|'
            || 'futex_abstimed_wait_common.*|syscall|std::condition_variable::.*wait.*|cnd_(timed)?wait)$') AS is_pool_call
FROM functions;

-- By the number of a function.
SET VARIABLE modules = (SELECT list(module ORDER BY id) FROM functions);
SET VARIABLE is_of_waiting = (SELECT list(is_of_waiting ORDER BY id) FROM traits);
SET VARIABLE is_of_libc = (SELECT list(is_of_libc ORDER BY id) FROM traits);
SET VARIABLE is_of_runtime = (SELECT list(is_of_runtime ORDER BY id) FROM traits);
SET VARIABLE is_unnamed = (SELECT list(is_unnamed ORDER BY id) FROM traits);
SET VARIABLE is_root = (SELECT list(is_root ORDER BY id) FROM traits);
SET VARIABLE is_plumbing = (SELECT list(is_plumbing ORDER BY id) FROM traits);
SET VARIABLE is_cause = (SELECT list(is_cause ORDER BY id) FROM traits);
SET VARIABLE is_loop = (SELECT list(is_loop ORDER BY id) FROM traits);
SET VARIABLE is_outer_loop = (SELECT list(is_outer_loop ORDER BY id) FROM traits);
SET VARIABLE is_loop_call = (SELECT list(is_loop_call ORDER BY id) FROM traits);
SET VARIABLE is_pool_call = (SELECT list(is_pool_call ORDER BY id) FROM traits);

CREATE OR REPLACE MACRO have(ids, flags) AS
    len(list_filter(ids, lambda f: flags[f])) > 0;

CREATE OR REPLACE TEMP TABLE waiting_functions AS
WITH callers_of AS (
    SELECT
        stack_id, functions[1] AS leaf,
        list_filter(functions, lambda f: NOT getvariable('is_of_waiting')[f]) AS callers
    FROM numbered_stacks
    WHERE coalesce(
        stack_id IN (SELECT stack_id FROM offcpu_waits UNION SELECT ustack_id FROM cpu_samples), false)
), parted AS (
    -- runtime_cnt: functions of the runtime on top. own: those of the program, down to the root.
    SELECT
        *,
        coalesce(
            list_position(list_transform(callers, lambda f: getvariable('is_of_runtime')[f]), false) - 1,
            len(callers)) AS runtime_cnt,
        coalesce(list_position(list_transform(callers, lambda f: getvariable('is_root')[f]), true) - 1, len(callers))
            AS root_at,
        callers[1:least(runtime_cnt, root_at)] AS on_top,
        callers[runtime_cnt + 1:greatest(root_at, runtime_cnt)] AS own
    FROM callers_of
), explained AS (
    SELECT
        *,
        list_max(list_transform(own, lambda f, i: CASE WHEN getvariable('is_plumbing')[f] THEN i END)) AS plumbing_at,
        own[1 + coalesce(plumbing_at, 0):] AS below,
        list_filter(below, lambda f: NOT getvariable('is_unnamed')[f])[1] AS named,
        -- A function of libc has a name where it can be called.
        list_filter(on_top, lambda f: getvariable('is_of_libc')[f] AND NOT getvariable('is_unnamed')[f]) AS libc
    FROM parted
)
SELECT
    stack_id,
    CASE WHEN len(libc) > 0 THEN libc[len(libc)] ELSE on_top[1] END AS call,
    coalesce(named, below[1], own[1], call, leaf) AS waits_in,
    first_of_each(callers[coalesce(list_position(callers, waits_in), 1):]) AS waiting,
    NOT have(callers, getvariable('is_cause'))
        AND (have(callers, getvariable('is_loop'))
            OR coalesce(getvariable('is_outer_loop')[waits_in], false)
            OR have(on_top, getvariable('is_loop_call'))
            OR have(on_top, getvariable('is_pool_call'))
                AND len(list_filter(own, lambda f: NOT getvariable('is_of_runtime')[f])) <= 2) AS is_idle
FROM explained;
