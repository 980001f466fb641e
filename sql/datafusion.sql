-- What queries for the `stacks` of old use that DuckDB does not have, or has otherwise: they were written for
-- DataFusion. stacksexport reads this file before a query; in a DuckDB shell read it after sql/stacks.sql.
--
--   empty(list)             true for a list without elements, and for none
--   array_union(a, b)       here a, then b: the set that it was deleted the frames of a recursion
--   decode(text, 'hex')     the bytes that the hexadecimal digits say

CREATE OR REPLACE MACRO empty(list) AS coalesce(len(list), 0) = 0;

CREATE OR REPLACE MACRO array_union(a, b) AS list_concat(a, b);

CREATE OR REPLACE MACRO decode(bytes) AS system.main.decode(bytes),
    (digits, encoding) AS CASE WHEN encoding = 'hex' THEN unhex(digits) ELSE error('decode: only ''hex'' is known') END;
