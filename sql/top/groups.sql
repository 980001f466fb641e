-- The group of an event in the tables of `top`: its command, or what --by chooses.

-- The id of a container in a cgroup's path, 12 digits as its runtime prints it, or its name (LXC, systemd-nspawn).
CREATE OR REPLACE MACRO container_of(cgroup) AS
    coalesce(
        nullif(left(regexp_extract(cgroup, '(?:^|[-/:])([0-9a-f]{64})(?:\.scope|/|$)', 1), 12), ''),
        nullif(regexp_extract(cgroup, '/lxc(?:\.payload[./]|/)([^/]+)', 1), ''),
        nullif(regexp_extract(cgroup, '/machine\.slice/(?:systemd-nspawn@|machine-)(.+?)\.(?:service|scope)', 1), ''),
        '');

-- The innermost unit of systemd that is no slice.
CREATE OR REPLACE MACRO unit_of(cgroup) AS
    regexp_extract(cgroup, '.*/([^/]+\.(?:service|scope|socket|mount|swap))(?:/|$)', 1);

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
