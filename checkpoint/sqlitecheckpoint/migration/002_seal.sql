-- Checksums of columns that no other checksum covers. Rows of the first version
-- have NULL. From this version on, the checksum before a control also covers the
-- namespace, the origin and the number, and rows of cp_pending hold their task,
-- number and checkpoint inside the frame.

ALTER TABLE cp_step ADD COLUMN seal INTEGER;    -- of number, parent, id, source, whole, and which values are NULL
ALTER TABLE cp_thread ADD COLUMN seal INTEGER;  -- of the other columns
