-- `stacksexport explain`: the macros with which its queries write sentences of Markdown. A query of a section returns one
-- column, a line of the page per row. Names come from recorded programs: md() makes them code, in which Markdown and HTML
-- mean nothing, without a quote that ends it and without line ends.
CREATE OR REPLACE TEMP MACRO plain(name) AS
    replace(regexp_replace(left(coalesce(name, ''), 200), '[\x00-\x1f\x7f]+', ' ', 'g'), '`', '''')
    || CASE WHEN length(name) > 200 THEN '…' ELSE '' END;

CREATE OR REPLACE TEMP MACRO md(name) AS '`' || coalesce(nullif(trim(plain(name)), ''), '?') || '`';

-- Text outside of code: what Markdown or HTML would read as more than text has a backslash before it.
CREATE OR REPLACE TEMP MACRO md_text(text) AS
    regexp_replace(regexp_replace(text, '[\x00-\x1f\x7f]+', ' ', 'g'), '([\\`*_\[\]<>#|!&~])', '\\\1', 'g');

-- A word of a command line for a shell.
CREATE OR REPLACE TEMP MACRO shell_word(name) AS
    CASE WHEN regexp_full_match(name, '[A-Za-z0-9_.:/@%+-]+') THEN name
    ELSE '''' || replace(name, '''', '''\''''') || '''' END;

CREATE OR REPLACE TEMP MACRO span_text(ns) AS CASE
    WHEN ns >= 100e9 THEN printf('%.0f s', ns / 1e9)
    WHEN ns >= 1e9 THEN printf('%.2f s', ns / 1e9)
    WHEN ns >= 1e6 THEN printf('%.1f ms', ns / 1e6)
    ELSE printf('%.0f µs', ns / 1e3)
END;

CREATE OR REPLACE TEMP MACRO bytes_text(n) AS CASE
    WHEN n >= 1e9 THEN printf('%.2f GB', n / 1e9)
    WHEN n >= 1e6 THEN printf('%.1f MB', n / 1e6)
    ELSE printf('%.0f kB', n / 1e3)
END;

CREATE OR REPLACE TEMP MACRO count_text(n) AS format('{:,}', n::BIGINT);

CREATE OR REPLACE TEMP MACRO percent_text(part, whole) AS
    CASE WHEN 100.0 * part / whole < 0.1 THEN 'less than 0.1 %' ELSE printf('%.1f %%', 100.0 * part / whole) END;

CREATE OR REPLACE TEMP MACRO plural(n, word) AS count_text(n) || ' ' || word || CASE WHEN n = 1 THEN '' ELSE 's' END;

-- The selected part of the recording, and how long it is.
CREATE OR REPLACE TEMP TABLE explain_range AS
SELECT
    selected_begin(min(timestamp - duration) FILTER (kind != 'exit')) AS begins,
    least(max(timestamp), getvariable('selected_to')) AS ends,
    greatest(ends - begins, 1) AS wall_ns,
    coalesce(max(cpu) + 1, 1) AS cpus
FROM all_events;

-- Which kinds of events occurred in the whole recording.
CREATE OR REPLACE TEMP TABLE explain_kinds AS
SELECT kind, count(*) AS events
FROM all_events
WHERE kind != 'lost'
GROUP BY kind;
