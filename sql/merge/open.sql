-- What the other scripts of this folder use; stacksexport merge runs it once.

-- Ids and addresses are 64 bits without a sign in recordings, and with a sign in a fleet folder, as Spark and Iceberg have
-- no unsigned integers. The bits are the same.
CREATE OR REPLACE MACRO signed_id(id) AS
    CASE WHEN id > 9223372036854775807 THEN (id - 18446744073709551616)::BIGINT ELSE id::BIGINT END;
