-- The migration 004_writes of checkpoint/pgcheckpoint.

DO $once$
DECLARE
  place constant text := 'weft';
  latest int := 0;
  noted text;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('weft checkpoint ' || place, 0));
  IF EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = place AND c.relname = 'cp_migration') THEN
    SELECT coalesce(max(version), 0), max(checksum) FILTER (WHERE version = 4) INTO latest, noted FROM weft.cp_migration;
  END IF;
  IF noted = '3d29e5d2a83b73aa8a3b90bf80a833af29bd7f7569bf8d730fceb293dcf2a9e4' THEN
    RAISE NOTICE 'migration 004_writes was applied to schema % before, and is not applied again', place;
    RETURN;
  ELSIF noted IS NOT NULL THEN
    RAISE EXCEPTION 'schema % has another migration of the number of 004_writes', place USING ERRCODE = 'object_not_in_prerequisite_state';
  ELSIF latest <> 4 - 1 THEN
    RAISE EXCEPTION 'schema % has version %, and migration 004_writes makes version 4 of the one before', place, latest
      USING ERRCODE = 'object_not_in_prerequisite_state';
  END IF;
EXECUTE $script$
-- cp_put_writes stores pending writes of a checkpoint. Most writes are new, and an INSERT
-- without ON CONFLICT takes half as long. The function falls back to ON CONFLICT if a
-- write exists.
CREATE OR REPLACE FUNCTION weft.cp_put_writes(
  p_tenant text, p_thread text, p_owner uuid, p_epoch int, p_ttl float8,
  p_space text, p_id uuid, p_tasks text[], p_numbers bigint[], p_data bytea[])
RETURNS int
LANGUAGE plpgsql SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
  v_key bigint;
  v_seq int;
BEGIN
  IF p_owner IS NULL THEN
    SELECT key INTO v_key FROM weft.cp_thread WHERE tenant = p_tenant AND id = p_thread FOR NO KEY UPDATE;
    IF NOT FOUND THEN RETURN 2; END IF;
  ELSE
    UPDATE weft.cp_thread SET until = clock_timestamp() + make_interval(secs => p_ttl)
    WHERE tenant = p_tenant AND id = p_thread AND owner = p_owner AND epoch = p_epoch RETURNING key INTO v_key;
    IF NOT FOUND THEN RETURN 3; END IF;
  END IF;
  SELECT seq INTO v_seq FROM weft.cp_step
  WHERE thread = v_key AND id = p_id AND space = weft.cp_space_key(v_key, p_space);
  IF NOT FOUND THEN RETURN 2; END IF;
  BEGIN
    INSERT INTO weft.cp_write (thread, seq, task, number, data)
    SELECT v_key, v_seq, u.task, u.number, u.data FROM unnest(p_tasks, p_numbers, p_data) AS u (task, number, data);
  EXCEPTION WHEN unique_violation THEN
    INSERT INTO weft.cp_write (thread, seq, task, number, data)
    SELECT v_key, v_seq, u.task, u.number, u.data FROM unnest(p_tasks, p_numbers, p_data) AS u (task, number, data)
    ON CONFLICT (thread, seq, task, number) DO UPDATE SET data = excluded.data;
  END;
  RETURN 0;
END
$$;

INSERT INTO weft.cp_migration (version, name, checksum) VALUES (4, '004_writes', '3d29e5d2a83b73aa8a3b90bf80a833af29bd7f7569bf8d730fceb293dcf2a9e4');
$script$;
END $once$;
