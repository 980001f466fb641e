-- What to do about stacks that end early and functions without names: one line of advice per row, where it concerns more
-- than 1 % of the user stacks (names of a file's functions: 5 %), the most frequent first.
WITH counted AS (
    SELECT ustack_id AS stack_id, command, coalesce(unwind, '') AS unwind, count(*) AS cnt
    FROM events
    WHERE ustack_id IS NOT NULL
        AND ('?command' IS NULL OR command = '?command')
        AND ('?buildid' IS NULL OR buildid = unhex('?buildid'))
    GROUP BY ALL
), total AS (
    SELECT sum(cnt) AS cnt
    FROM counted
), of_stacks AS (
    -- Functions have numbers, so that no frame is read again. A file has its path without folders there.
    SELECT
        stack_id, functions, list_filter(functions, lambda f: getvariable('is_unnamed')[f]) AS unnamed,
        list_distinct(list_transform(unnamed, lambda f: getvariable('modules')[f])) AS nameless
    FROM stack_functions
), stacks_with AS MATERIALIZED (
    SELECT c.command, c.unwind, c.cnt, s.functions, s.nameless
    FROM counted c
    JOIN of_stacks s USING (stack_id)
    WHERE len(s.nameless) > 0 OR c.unwind = 'truncated'
), runtimes AS (
    FROM (VALUES
        ('libjvm.so', 'start java with -XX:+PreserveFramePointer and run "jcmd PID Compiler.perfmap" while you record'),
        ('node', 'start node with --perf-basic-prof'),
        ('libcoreclr.so', 'start .NET with DOTNET_PerfMapEnabled=1')) AS r(file, advice)
), run_by AS (
    SELECT command, min(advice) AS advice
    FROM (
        SELECT DISTINCT command, getvariable('modules')[unnest(functions)] AS file
        FROM counted
        JOIN stack_functions USING (stack_id)
        WHERE command IN (SELECT command FROM stacks_with WHERE list_contains(nameless, '[anon]')))
    JOIN runtimes USING (file)
    GROUP BY command
), findings AS (
    SELECT
        sum(s.cnt) AS cnt, 0.01 AS least,
        concat(
            'user stacks of ', s.command, ' go through code without names that it made at run time: ',
            coalesce(any_value(r.advice), 'its runtime has to write /tmp/perf-PID.map or a jitdump')) AS advice
    FROM stacks_with s
    LEFT JOIN run_by r USING (command)
    WHERE list_contains(s.nameless, '[anon]')
    GROUP BY s.command
    UNION ALL
    SELECT
        sum(cnt), 0.05,
        concat(
            'user stacks go through functions without names of ', file, ': install its debug package and record again ',
            '(Debian: "dpkg -S ', file, '" names the PACKAGE, then apt install PACKAGE-dbgsym or PACKAGE-dbg; ',
            'Fedora: debuginfo-install)')
    FROM (SELECT cnt, unnest(nameless) AS file FROM stacks_with)
    WHERE NOT starts_with(file, '[')
    GROUP BY file
    UNION ALL
    SELECT
        sum(cnt), 0.01,
        'user stacks are larger than what was copied, or partly not in memory: record with --stack-size=1M or --stitch'
    FROM stacks_with
    WHERE unwind = 'truncated'
)
SELECT concat(round(100.0 * f.cnt / t.cnt, 1), ' % of the ', f.advice) AS advice
FROM findings f, total t
WHERE f.cnt > f.least * t.cnt
ORDER BY f.cnt DESC, advice
LIMIT 5;
