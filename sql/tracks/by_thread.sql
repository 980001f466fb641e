-- `stacksexport firefox`: the events that belong to a thread, thread by thread and in the order of time, the first thread of
-- a process before its others.
SELECT query, event, name, kind, pid, tid, cpu, amount, rate, begin_ns, end_ns, stack, end_stack, args
FROM trace_events
WHERE problem IS NULL AND event != 'counter'
ORDER BY pid, tid != pid, tid, begin_ns, end_ns DESC, query, name;
