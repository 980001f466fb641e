-- Functions for queries that were written for DataFusion (the original `stacks`) and that DuckDB lacks or defines
-- differently. stacksexport reads this file before a query; in a DuckDB shell, read it after sql/stacks.sql.
--
--   empty(list)             true for a list without elements, and for null
--   array_union(a, b)       a followed by b: a set union would delete the frames of a recursion
--   decode(text, 'hex')     the bytes of hexadecimal digits

CREATE OR REPLACE MACRO empty(list) AS coalesce(len(list), 0) = 0;

CREATE OR REPLACE MACRO array_union(a, b) AS list_concat(a, b);

CREATE OR REPLACE MACRO decode(bytes) AS system.main.decode(bytes),
    (digits, encoding) AS CASE WHEN encoding = 'hex' THEN unhex(digits) ELSE error('decode: only ''hex'' is known') END;
