-- New batches have been taken in.
COMMIT;
