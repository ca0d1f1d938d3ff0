-- Each function is what one call of the store does to the database, so that it
-- takes one round trip and is planned once. All but cp_lease begin by locking the
-- row of the thread; as every statement of a function sees what was committed
-- before it, what they find then is the newest. None of them raises an error for
-- what it refuses, since that would end a caller's transaction: they return
--
--   0  done
--   1  conflict: another checkpoint is the newest, or the id exists
--   2  not found
--   3  the lease is lost
--
-- A lease is given as its owner and epoch, and an owner of null stands for none.

-- cp_space_key returns null for a namespace that has no checkpoint.
CREATE FUNCTION weft.cp_space_key(p_thread bigint, p_name text) RETURNS int
LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN p_name = '' THEN 0
    ELSE (SELECT key FROM weft.cp_space WHERE thread = p_thread AND name = p_name) END
$$;

-- cp_put stores a checkpoint. When p_again is set, it is not known whether it was
-- stored before, and finding it is success.
CREATE FUNCTION weft.cp_put(
  p_tenant text, p_thread text, p_owner uuid, p_epoch int, p_ttl float8,
  p_space text, p_id uuid, p_name text, p_parent uuid, p_head uuid, p_again boolean,
  p_step bigint, p_source text, p_settles boolean,
  p_digest bytea, p_run text, p_version text, p_meta jsonb,
  p_control bytea, p_changes bytea, p_snapshot bytea)
RETURNS int
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  t record;
  n_id uuid;
  n_seq int;
  n_time timestamptz;
  n_space int;
  n_branch int;
  n_root int;
  v_space int := 0;
  v_origin int;
  v_parent int := 0;
  v_branch int;
  v_root int;
  v_highest uuid;
  v_status int := 0;
BEGIN
  -- Almost every checkpoint follows the newest of its thread, in the root
  -- namespace and the same run.
  IF p_space = '' AND p_parent = p_head THEN
    UPDATE weft.cp_thread SET seq = seq + 1, steps = steps + 1, head = p_id, highest = p_id,
      at = greatest(clock_timestamp(), at), parent = newest, newest = seq + 1,
      root = CASE WHEN p_snapshot IS NULL THEN root ELSE seq + 1 END,
      until = CASE WHEN p_owner IS NULL THEN until ELSE clock_timestamp() + make_interval(secs => p_ttl) END
    WHERE tenant = p_tenant AND id = p_thread AND head = p_head AND digest = p_digest AND highest < p_id
    AND (p_owner IS NULL OR owner = p_owner AND epoch = p_epoch)
    RETURNING key, seq, at, parent, branch, root, origin INTO t;
    IF FOUND THEN
      INSERT INTO weft.cp_step (thread, time, step, seq, parent, branch, root, space, origin, epoch, whole,
        id, source, name, control, changes, snapshot)
      VALUES (t.key, t.at, p_step, t.seq, t.parent, t.branch, t.root, 0, t.origin, coalesce(p_epoch, 0),
        p_snapshot IS NOT NULL, p_id, p_source, p_name, p_control, p_changes, p_snapshot);
      IF p_settles THEN
        DELETE FROM weft.cp_write WHERE thread = t.key AND seq = t.parent;
      END IF;
      RETURN 0;
    END IF;
  END IF;

  FOR try IN 1..2 LOOP
    UPDATE weft.cp_thread SET seq = seq + 1, steps = steps + 1,
      until = CASE WHEN p_owner IS NULL THEN until ELSE clock_timestamp() + make_interval(secs => p_ttl) END
    WHERE tenant = p_tenant AND id = p_thread AND (p_owner IS NULL OR owner = p_owner AND epoch = p_epoch)
    RETURNING key, seq INTO t;
    EXIT WHEN FOUND;
    IF p_owner IS NOT NULL THEN RETURN 3; END IF;
    IF p_head IS NOT NULL THEN RETURN 1; END IF;
    IF p_parent IS NOT NULL THEN RETURN 2; END IF;
    INSERT INTO weft.cp_thread (tenant, id, seq, steps) VALUES (p_tenant, p_thread, 1, 1)
    ON CONFLICT (tenant, id) DO NOTHING RETURNING key, seq INTO t;
    EXIT WHEN FOUND;
  END LOOP;
  IF t.key IS NULL THEN
    RETURN 1; -- it exists, and is not to be seen
  END IF;

  IF p_space <> '' THEN
    SELECT key INTO v_space FROM weft.cp_space WHERE thread = t.key AND name = p_space;
  END IF;
  -- The newest of the thread is mostly the newest of the namespace.
  SELECT seq, time, space, branch, root, id INTO n_seq, n_time, n_space, n_branch, n_root, n_id
  FROM weft.cp_step WHERE thread = t.key ORDER BY seq DESC LIMIT 1;
  IF v_space IS NULL THEN
    n_id := NULL;
  ELSIF n_space <> v_space AND v_space = 0 THEN
    SELECT seq, branch, root, id INTO n_seq, n_branch, n_root, n_id
    FROM weft.cp_step WHERE thread = t.key AND space = 0 ORDER BY seq DESC LIMIT 1;
  ELSIF n_space <> v_space THEN
    SELECT seq, branch, root, id INTO n_seq, n_branch, n_root, n_id
    FROM weft.cp_step WHERE thread = t.key AND space = v_space AND space <> 0 ORDER BY seq DESC LIMIT 1;
  END IF;

  -- What is refused from here on has been counted already.
  IF n_id IS DISTINCT FROM p_head OR n_id = p_id THEN
    v_status := 1;
    IF n_id = p_id OR p_again THEN
      SELECT 0 INTO v_status FROM weft.cp_step s WHERE s.thread = t.key AND s.id = p_id AND s.space = v_space
      AND (SELECT p.id FROM weft.cp_step p WHERE p.thread = t.key AND p.seq = s.parent) IS NOT DISTINCT FROM p_parent;
      v_status := coalesce(v_status, 1);
    END IF;
  ELSIF EXISTS (SELECT FROM weft.cp_step WHERE thread = t.key AND id = p_id) THEN
    v_status := 1;
  ELSIF p_parent IS NULL THEN
    v_branch := t.seq;
    v_root := t.seq;
  ELSIF p_parent = p_head THEN
    v_parent := n_seq;
    v_branch := n_branch;
    v_root := n_root;
  ELSE
    SELECT seq, t.seq, root INTO v_parent, v_branch, v_root
    FROM weft.cp_step WHERE thread = t.key AND id = p_parent AND space = v_space;
    IF NOT FOUND THEN v_status := 2; END IF;
  END IF;
  IF v_branch IS NULL THEN
    UPDATE weft.cp_thread SET seq = seq - 1, steps = steps - 1 WHERE key = t.key;
    RETURN v_status;
  END IF;

  IF v_space IS NULL THEN
    INSERT INTO weft.cp_space (thread, key, name) VALUES (t.key, t.seq, p_space);
  END IF;
  SELECT key INTO v_origin FROM weft.cp_origin WHERE thread = t.key AND digest = p_digest;
  IF NOT FOUND THEN
    INSERT INTO weft.cp_origin (thread, key, digest, run, version, meta)
    VALUES (t.key, t.seq, p_digest, p_run, p_version, p_meta);
  END IF;
  n_time := greatest(clock_timestamp(), n_time);
  v_root := CASE WHEN p_snapshot IS NULL THEN v_root ELSE t.seq END;
  v_origin := coalesce(v_origin, t.seq);
  INSERT INTO weft.cp_step (thread, time, step, seq, parent, branch, root, space, origin, epoch, whole,
    id, source, name, control, changes, snapshot)
  VALUES (t.key, n_time, p_step, t.seq, v_parent, v_branch, v_root,
    coalesce(v_space, t.seq), v_origin, coalesce(p_epoch, 0), p_snapshot IS NOT NULL,
    p_id, p_source, p_name, p_control, p_changes, p_snapshot);
  SELECT id INTO v_highest FROM weft.cp_step WHERE thread = t.key ORDER BY id DESC LIMIT 1;
  IF v_space = 0 THEN
    UPDATE weft.cp_thread SET head = p_id, digest = p_digest, highest = v_highest, at = n_time,
      newest = t.seq, parent = v_parent, branch = v_branch, root = v_root, origin = v_origin
    WHERE key = t.key;
  ELSE
    UPDATE weft.cp_thread SET highest = v_highest, at = n_time WHERE key = t.key;
  END IF;
  IF p_settles AND v_parent <> 0 THEN
    DELETE FROM weft.cp_write WHERE thread = t.key AND seq = v_parent;
  END IF;
  RETURN 0;
END
$$;

-- cp_put_writes stores pending writes of a checkpoint.
CREATE FUNCTION weft.cp_put_writes(
  p_tenant text, p_thread text, p_owner uuid, p_epoch int, p_ttl float8,
  p_space text, p_id uuid, p_tasks text[], p_numbers bigint[], p_data bytea[])
RETURNS int
LANGUAGE plpgsql AS $$
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
  INSERT INTO weft.cp_write (thread, seq, task, number, data)
  SELECT v_key, v_seq, u.task, u.number, u.data FROM unnest(p_tasks, p_numbers, p_data) AS u (task, number, data)
  ON CONFLICT (thread, seq, task, number) DO UPDATE SET data = excluded.data;
  RETURN 0;
END
$$;

-- cp_lease gives the thread to an owner, or says for how many seconds another one
-- still has it. With p_steal, it is taken from whoever has it. It returns no row
-- for a thread that is not to be seen.
CREATE FUNCTION weft.cp_lease(p_tenant text, p_thread text, p_owner uuid, p_ttl float8, p_steal boolean)
RETURNS TABLE (granted boolean, epoch int, seq int, busy float8)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  FOR try IN 1..3 LOOP
    RETURN QUERY UPDATE weft.cp_thread t SET epoch = t.epoch + 1, owner = p_owner,
      until = clock_timestamp() + make_interval(secs => p_ttl)
    WHERE t.tenant = p_tenant AND t.id = p_thread
    AND (t.owner IS NULL OR t.until < clock_timestamp() OR t.owner = p_owner OR p_steal)
    RETURNING true, t.epoch, t.seq, 0::float8;
    EXIT WHEN FOUND;
    RETURN QUERY SELECT false, t.epoch, t.seq, greatest(extract(epoch FROM t.until - clock_timestamp()), 0)::float8
    FROM weft.cp_thread t WHERE t.tenant = p_tenant AND t.id = p_thread AND t.owner IS NOT NULL;
    EXIT WHEN FOUND;
    RETURN QUERY INSERT INTO weft.cp_thread AS t (tenant, id, epoch, owner, until)
    VALUES (p_tenant, p_thread, 1, p_owner, clock_timestamp() + make_interval(secs => p_ttl))
    ON CONFLICT (tenant, id) DO NOTHING RETURNING true, t.epoch, t.seq, 0::float8;
    EXIT WHEN FOUND;
  END LOOP;
END
$$;

-- cp_release ends a lease. A thread without checkpoints was there for it only.
CREATE FUNCTION weft.cp_release(p_tenant text, p_thread text, p_owner uuid, p_epoch int) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  UPDATE weft.cp_thread SET owner = NULL, until = NULL
  WHERE tenant = p_tenant AND id = p_thread AND owner = p_owner AND epoch = p_epoch AND steps > 0;
  IF NOT FOUND THEN
    DELETE FROM weft.cp_thread
    WHERE tenant = p_tenant AND id = p_thread AND owner = p_owner AND epoch = p_epoch AND steps = 0;
  END IF;
END
$$;

-- cp_clear removes all that a thread has, and the thread too unless somebody has
-- its lease. Its row must be locked.
CREATE FUNCTION weft.cp_clear(p_key bigint) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  DELETE FROM weft.cp_tag WHERE thread = p_key;
  DELETE FROM weft.cp_write WHERE thread = p_key;
  DELETE FROM weft.cp_step WHERE thread = p_key;
  DELETE FROM weft.cp_origin WHERE thread = p_key;
  DELETE FROM weft.cp_space WHERE thread = p_key;
  UPDATE weft.cp_thread SET steps = 0, seq = seq + 1, head = NULL WHERE key = p_key AND until >= clock_timestamp();
  IF NOT FOUND THEN
    DELETE FROM weft.cp_thread WHERE key = p_key;
  END IF;
END
$$;

-- cp_delete removes a thread.
CREATE FUNCTION weft.cp_delete(p_tenant text, p_thread text, p_owner uuid, p_epoch int) RETURNS int
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  t record;
BEGIN
  SELECT key, owner, epoch INTO t FROM weft.cp_thread WHERE tenant = p_tenant AND id = p_thread FOR UPDATE;
  IF NOT FOUND THEN
    RETURN CASE WHEN p_owner IS NULL THEN 0 ELSE 3 END;
  END IF;
  IF p_owner IS NOT NULL AND (t.owner IS DISTINCT FROM p_owner OR t.epoch <> p_epoch) THEN
    RETURN 3;
  END IF;
  PERFORM weft.cp_clear(t.key);
  RETURN 0;
END
$$;

-- cp_copy copies all that a thread has to a thread that does not exist.
CREATE FUNCTION weft.cp_copy(p_tenant text, p_from text, p_to text) RETURNS int
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  t record;
  v_to bigint;
BEGIN
  SELECT key, created, seq, steps INTO t FROM weft.cp_thread
  WHERE tenant = p_tenant AND id = p_from AND steps > 0 FOR NO KEY UPDATE;
  IF NOT FOUND THEN RETURN 2; END IF;
  DELETE FROM weft.cp_thread WHERE tenant = p_tenant AND id = p_to AND steps = 0 AND until < clock_timestamp();
  INSERT INTO weft.cp_thread (tenant, id, created, seq, steps) VALUES (p_tenant, p_to, t.created, t.seq, t.steps)
  ON CONFLICT (tenant, id) DO NOTHING RETURNING key INTO v_to;
  IF NOT FOUND THEN RETURN 1; END IF;
  INSERT INTO weft.cp_space (thread, key, name) SELECT v_to, key, name FROM weft.cp_space WHERE thread = t.key;
  INSERT INTO weft.cp_origin (thread, key, digest, run, version, meta)
  SELECT v_to, key, digest, run, version, meta FROM weft.cp_origin WHERE thread = t.key;
  INSERT INTO weft.cp_step (thread, time, step, seq, parent, branch, root, space, origin, epoch, whole,
    id, source, name, control, changes, snapshot, base)
  SELECT v_to, time, step, seq, parent, branch, root, space, origin, 0, whole,
    id, source, name, control, changes, snapshot, base
  FROM weft.cp_step WHERE thread = t.key ORDER BY seq;
  INSERT INTO weft.cp_write (thread, seq, task, number, data)
  SELECT v_to, seq, task, number, data FROM weft.cp_write WHERE thread = t.key;
  INSERT INTO weft.cp_tag (thread, name, seq) SELECT v_to, name, seq FROM weft.cp_tag WHERE thread = t.key;
  RETURN 0;
END
$$;
