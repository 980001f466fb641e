-- A selection that can also be one group, or all groups but some. It is not in stacks.sql, because binding group_of()
-- takes most of the time in which DuckDB plans a query of events.
CREATE OR REPLACE MACRO selected(rows) AS TABLE
SELECT *
FROM query_table(rows)
WHERE is_selected(command, thread, tgid, pid, cgroup, trace_name, host, span_id)
    AND (
        getvariable('selected_group') IS NULL
        OR group_of(command, thread, tgid, pid, cgroup, trace_name, host) = getvariable('selected_group'))
    AND (
        getvariable('other_groups_than') IS NULL
        OR NOT list_contains(
            getvariable('other_groups_than'), group_of(command, thread, tgid, pid, cgroup, trace_name, host)));
