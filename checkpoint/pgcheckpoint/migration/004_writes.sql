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
