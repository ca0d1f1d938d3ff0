-- Facts of one digest may say the same: their contents are compared, and their times. So several of
-- them may be valid, and one that ends later is looked for too.
DROP INDEX mem_fact_said;
CREATE INDEX mem_fact_digest ON mem_fact (scope, digest);
