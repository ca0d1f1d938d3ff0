-- Fills run_live for the records of older versions. It locks these records only, so that they cannot
-- change meanwhile.
WITH old AS (
  SELECT kind, id FROM weft.run_record WHERE status IN ('pending', 'running', 'busy') FOR NO KEY UPDATE
)
INSERT INTO weft.run_live (kind, id) SELECT kind, id FROM old ON CONFLICT DO NOTHING;
