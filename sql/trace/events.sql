-- `stacksexport trace`: what is drawn, in order of time within a query, an event before those inside of it.
SELECT query, event, name, kind, pid, tid, cpu, amount, rate, begin_ns, end_ns, stack, end_stack, args
FROM trace_events
WHERE problem IS NULL
ORDER BY query, begin_ns, end_ns DESC, pid, tid, name;
