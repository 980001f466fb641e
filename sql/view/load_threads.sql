-- Numbers the threads (with span and cgroup) of the recording, in page.threads.
INSERT INTO page.threads
SELECT (SELECT count(*) FROM page.threads) + row_number() OVER (), *
FROM (
    SELECT DISTINCT
        page.thread_key(host, cgroup, command, thread, tgid, pid, span) AS key,
        host, cgroup, command, thread, tgid, pid, span
    FROM page.totals)
WHERE key NOT IN (SELECT key FROM page.threads);
