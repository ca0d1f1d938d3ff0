-- Fills run_open for the threads of older versions. It locks these threads only, so that they cannot
-- change meanwhile.
WITH old AS (
  SELECT id, status, created FROM weft.run_record
  WHERE kind = 'thread' AND status IN ('interrupted', 'error') FOR NO KEY UPDATE
)
INSERT INTO weft.run_open (thread, state, made) SELECT id, status, created FROM old ON CONFLICT DO NOTHING;
