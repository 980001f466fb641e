-- The group of an event in the tables of `top`: its command, or what --by chooses.

-- DuckDB knows the value of the variable when it plans a query: the other branches cost nothing.
CREATE OR REPLACE MACRO group_of(command, thread, tgid, pid, cgroup, trace_name, host) AS
    CASE getvariable('top_by')
        WHEN 'process' THEN concat(command, ' ', tgid)
        WHEN 'thread' THEN concat(coalesce(thread, command), ' ', pid)
        WHEN 'cgroup' THEN coalesce(cgroup, '')
        WHEN 'container' THEN coalesce(nullif(container_of(coalesce(cgroup, '')), ''), '[no container]')
        WHEN 'unit' THEN coalesce(nullif(unit_of(coalesce(cgroup, '')), ''), '[no unit]')
        WHEN 'span' THEN coalesce(nullif(trace_name, ''), '[no span]')
        WHEN 'host' THEN coalesce(host, '')
        ELSE command
    END;
