-- Which functions cost more in the newest version of a program than in the one before?
-- A version is a build ID of the executable; the newest is the one that was seen last for the first time. Percentages are of
-- all CPU time of that version in user stacks, with what the function called.
WITH samples AS (
    SELECT
        command, lower(hex(buildid)) AS build, ustack_id AS stack_id, sum(duration * coalesce(weight, 1)) AS sample_ns,
        min(timestamp) AS first_time
    FROM events
    WHERE kind = 'profile' AND ustack_id IS NOT NULL
    GROUP BY command, lower(hex(buildid)), ustack_id
), versions AS (
    SELECT command, build, sum(sample_ns) AS version_ns, min(first_time) AS seen
    FROM samples
    WHERE build <> ''
    GROUP BY command, build
), ranked AS (
    SELECT command, build, version_ns, row_number() OVER (PARTITION BY command ORDER BY seen DESC, build) AS age
    FROM versions
), functions AS (
    SELECT DISTINCT stack_id, coalesce(name, '') AS function_name, module
    FROM frames
), costs AS (
    SELECT
        s.command AS command, f.function_name AS function_name, f.module AS module,
        sum(CASE WHEN r.age = 2 THEN 1e2 * s.sample_ns / r.version_ns ELSE 0e0 END) AS old_part,
        sum(CASE WHEN r.age = 1 THEN 1e2 * s.sample_ns / r.version_ns ELSE 0e0 END) AS new_part
    FROM samples s
    JOIN ranked r ON r.command = s.command AND r.build = s.build
    JOIN functions f ON f.stack_id = s.stack_id
    WHERE r.age <= 2
    GROUP BY s.command, f.function_name, f.module
), pairs AS (
    SELECT a.command AS command, a.build AS old_build, b.build AS new_build
    FROM ranked a
    JOIN ranked b ON b.command = a.command
    WHERE a.age = 2 AND b.age = 1
)
SELECT
    c.command, c.function_name, c.module, p.old_build, p.new_build, c.old_part AS old_percent, c.new_part AS new_percent,
    c.new_part - c.old_part AS change
FROM costs c
JOIN pairs p ON p.command = c.command
ORDER BY change DESC, command, function_name, module
LIMIT 100
