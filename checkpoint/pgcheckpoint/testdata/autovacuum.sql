ALTER TABLE weft.cp_step SET (autovacuum_vacuum_scale_factor = 0.02);
