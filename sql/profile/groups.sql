-- `stacksexport pprof --by`: the groups of events, those with most rows first.
SELECT group_of(command, thread, tgid, pid, cgroup, trace_name, host) AS group_name
FROM events
WHERE kind != 'lost'
GROUP BY ALL
ORDER BY count(*) DESC, group_name;
