-- Before new batches are taken in: all but the threads, which keep their numbers.
BEGIN TRANSACTION;
DELETE FROM page.totals;
DELETE FROM page.unwinds;
DELETE FROM page.samples;
DELETE FROM page.waits;
SELECT 0;
