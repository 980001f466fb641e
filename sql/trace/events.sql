-- `stacksexport trace`: the drawn events, in the order of time within a query, an event before those inside it.
SELECT query, event, name, kind, pid, tid, cpu, amount, rate, begin_ns, end_ns, stack, end_stack, args
FROM trace_events
WHERE problem IS NULL
ORDER BY query, begin_ns, end_ns DESC, pid, tid, name;
