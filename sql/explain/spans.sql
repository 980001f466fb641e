-- The program's own spans: how many of each name ended, and how long they took.
SELECT
    '- ' || md(trace_name) || ' in ' || md(any_value(command)) || ': ' || plural(count(*), 'span') || ', half of them up to '
    || span_text(quantile_cont(duration, 0.5)) || ', 99 % up to ' || span_text(quantile_cont(duration, 0.99))
    || ', the longest ' || span_text(max(duration)) || '.' AS line
FROM events
WHERE kind = 'trace_close'
GROUP BY trace_name
ORDER BY sum(duration) DESC, trace_name
LIMIT 6;
