-- The migration 002_functions of checkpoint/pgcheckpoint.

DO $once$
DECLARE
  place constant text := 'weft';
  latest int := 0;
  noted text;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('weft checkpoint ' || place, 0));
  IF EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = place AND c.relname = 'cp_migration') THEN
    SELECT coalesce(max(version), 0), max(checksum) FILTER (WHERE version = 2) INTO latest, noted FROM weft.cp_migration;
  END IF;
  IF noted = '13c9231c2e1949159c75622031d2a7bf90e9ef8474ebd684aa51f750b9355ee4' THEN
    RAISE NOTICE 'migration 002_functions was applied to schema % before, and is not applied again', place;
    RETURN;
  ELSIF noted IS NOT NULL THEN
    RAISE EXCEPTION 'schema % has another migration of the number of 002_functions', place USING ERRCODE = 'object_not_in_prerequisite_state';
  ELSIF latest <> 2 - 1 THEN
    RAISE EXCEPTION 'schema % has version %, and migration 002_functions makes version 2 of the one before', place, latest
      USING ERRCODE = 'object_not_in_prerequisite_state';
  END IF;
EXECUTE $script$
-- Each function is what one call of the store does to the database, so that it
-- takes one round trip and is planned once. Those that write begin by locking the
-- row of the thread. As every statement of a function sees what was committed
-- before it, what they find then is the newest. None of them raises an error for
-- what it refuses, since that would end a caller's transaction: they return
--
--   0  done
--   1  conflict: another checkpoint is the newest, or the id exists
--   2  not found
--   3  the lease is lost
--
-- A lease is given as its owner and epoch, and an owner of null stands for none.
--
-- Plans are kept for as long as a connection, and may be made while the tables are
-- still empty. So they are told to use indexes, which is right for all of them.

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
LANGUAGE plpgsql SET enable_seqscan = off AS $$
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
  IF v_space = 0 THEN
    UPDATE weft.cp_thread SET head = p_id, digest = p_digest, highest = greatest(highest, p_id), at = n_time,
      newest = t.seq, parent = v_parent, branch = v_branch, root = v_root, origin = v_origin
    WHERE key = t.key;
  ELSE
    UPDATE weft.cp_thread SET highest = greatest(highest, p_id), at = n_time WHERE key = t.key;
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
  INSERT INTO weft.cp_write (thread, seq, task, number, data)
  SELECT v_key, v_seq, u.task, u.number, u.data FROM unnest(p_tasks, p_numbers, p_data) AS u (task, number, data)
  ON CONFLICT (thread, seq, task, number) DO UPDATE SET data = excluded.data;
  RETURN 0;
END
$$;

-- A row of what a checkpoint is rebuilt from, which has all the columns for the
-- checkpoint itself only.
CREATE TYPE weft.cp_part AS (
  seq int, id uuid, name text, source text, whole boolean, base bytea, snapshot bytea, changes bytea,
  parent_id uuid, parent_name text, step bigint, "time" timestamptz, control bytea,
  run text, version text, meta jsonb, digest bytea, space int, namespace text,
  tasks text[], numbers bigint[], data bytea[]
);

-- cp_load returns a checkpoint, its lineage and its pending writes, in any order. An
-- id of null stands for the newest of the namespace.
--
-- A lineage is as many ranges of rows as there are branches in it, from the root on:
-- a range ends with the parent of the first row in the range behind it.
CREATE FUNCTION weft.cp_load(p_tenant text, p_thread text, p_space text, p_id uuid) RETURNS SETOF weft.cp_part
LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET work_mem = '64MB' AS $$
#variable_conflict use_column
DECLARE
  v_thread bigint;
  v_space int;
  t record;
BEGIN
  SELECT key, weft.cp_space_key(key, p_space) INTO v_thread, v_space
  FROM weft.cp_thread WHERE tenant = p_tenant AND id = p_thread;
  IF p_id IS NOT NULL THEN
    SELECT seq, branch, root INTO t FROM weft.cp_step WHERE thread = v_thread AND id = p_id AND space = v_space;
  ELSIF v_space = 0 THEN
    SELECT seq, branch, root INTO t FROM weft.cp_step
    WHERE thread = v_thread AND space = 0 ORDER BY seq DESC LIMIT 1;
  ELSE
    SELECT seq, branch, root INTO t FROM weft.cp_step
    WHERE thread = v_thread AND space = v_space AND space <> 0 ORDER BY seq DESC LIMIT 1;
  END IF;
  IF NOT FOUND THEN RETURN; END IF;

  RETURN QUERY SELECT s.seq, s.id, s.name, s.source, s.whole, s.base, s.snapshot, s.changes,
    p.id, p.name, s.step, s.time, s.control, o.run, o.version, o.meta, o.digest, s.space, v.name,
    ARRAY(SELECT w.task FROM weft.cp_write w WHERE w.thread = v_thread AND w.seq = t.seq ORDER BY w.task, w.number),
    ARRAY(SELECT w.number FROM weft.cp_write w WHERE w.thread = v_thread AND w.seq = t.seq ORDER BY w.task, w.number),
    ARRAY(SELECT w.data FROM weft.cp_write w WHERE w.thread = v_thread AND w.seq = t.seq ORDER BY w.task, w.number)
  FROM weft.cp_step s
  LEFT JOIN weft.cp_step p ON s.parent > 0 AND p.thread = v_thread AND p.seq = s.parent
  LEFT JOIN weft.cp_origin o ON o.thread = v_thread AND o.key = s.origin
  LEFT JOIN weft.cp_space v ON s.space > 0 AND v.thread = v_thread AND v.key = s.space
  WHERE s.thread = v_thread AND s.seq = t.seq;

  RETURN QUERY WITH RECURSIVE part (branch, last) AS (
    SELECT t.branch, t.seq
    UNION ALL
    SELECT p.branch, p.seq FROM part
    CROSS JOIN LATERAL (SELECT f.parent FROM weft.cp_step f WHERE f.thread = v_thread
      AND f.seq >= greatest(part.branch, t.root) AND f.branch = part.branch ORDER BY f.seq LIMIT 1) f
    JOIN weft.cp_step p ON p.thread = v_thread AND p.seq = f.parent
    WHERE f.parent >= t.root AND f.parent > 0
  )
  SELECT s.seq, s.id, s.name, s.source, s.whole, s.base, s.snapshot,
    CASE WHEN s.snapshot IS NULL THEN s.changes END,
    NULL::uuid, NULL::text, NULL::bigint, NULL::timestamptz, NULL::bytea,
    NULL::text, NULL::text, NULL::jsonb, NULL::bytea, NULL::int, NULL::text,
    NULL::text[], NULL::bigint[], NULL::bytea[]
  FROM part JOIN weft.cp_step s ON s.thread = v_thread
    AND s.seq BETWEEN greatest(part.branch, t.root) AND part.last AND s.branch = part.branch AND s.seq <> t.seq;
END
$$;

-- cp_lease gives the thread to an owner, and returns its newest checkpoint as cp_load
-- does. With p_steal, the thread is taken from whoever has it. A row without an id
-- says in columns of others what became of the lease: whether it was given (whole),
-- for how many microseconds it is another's (step), and the epoch (space). There
-- is no such row for a thread that is not to be seen.
CREATE FUNCTION weft.cp_lease(p_tenant text, p_thread text, p_owner uuid, p_ttl float8, p_steal boolean)
RETURNS SETOF weft.cp_part
LANGUAGE plpgsql SET enable_seqscan = off SET work_mem = '64MB' AS $$
#variable_conflict use_column
DECLARE
  v_given boolean;
  v_epoch int;
  v_busy bigint;
BEGIN
  FOR try IN 1..3 LOOP
    UPDATE weft.cp_thread SET epoch = epoch + 1, owner = p_owner,
      until = clock_timestamp() + make_interval(secs => p_ttl)
    WHERE tenant = p_tenant AND id = p_thread
    AND (owner IS NULL OR until < clock_timestamp() OR owner = p_owner OR p_steal)
    RETURNING true, epoch, 0 INTO v_given, v_epoch, v_busy;
    EXIT WHEN FOUND;
    SELECT false, epoch, greatest(extract(epoch FROM until - clock_timestamp()) * 1000000, 0)
    INTO v_given, v_epoch, v_busy
    FROM weft.cp_thread WHERE tenant = p_tenant AND id = p_thread AND owner IS NOT NULL;
    EXIT WHEN FOUND;
    INSERT INTO weft.cp_thread (tenant, id, epoch, owner, until)
    VALUES (p_tenant, p_thread, 1, p_owner, clock_timestamp() + make_interval(secs => p_ttl))
    ON CONFLICT (tenant, id) DO NOTHING RETURNING true, epoch, 0 INTO v_given, v_epoch, v_busy;
    EXIT WHEN FOUND;
  END LOOP;
  IF v_given IS NULL THEN RETURN; END IF;
  RETURN NEXT (0, NULL, NULL, '', v_given, NULL, NULL, NULL, NULL, NULL, v_busy, NULL, NULL,
    NULL, NULL, NULL, NULL, v_epoch, NULL, NULL, NULL, NULL)::weft.cp_part;
  IF v_given THEN
    RETURN QUERY SELECT * FROM weft.cp_load(p_tenant, p_thread, '', NULL);
  END IF;
END
$$;

-- cp_list returns a page of a thread's checkpoints, newest first, without their values.
-- A filter of null is none: the number or the id to list before, the namespace,
-- source, step, run and metadata.
CREATE FUNCTION weft.cp_list(
  p_tenant text, p_thread text, p_before int, p_before_id uuid, p_space text,
  p_source text, p_step bigint, p_run text, p_meta jsonb, p_limit int, p_writes boolean)
RETURNS TABLE (
  seq int, id uuid, name text, parent_id uuid, parent_name text, step bigint, source text, "time" timestamptz,
  control bytea, run text, version text, meta jsonb, digest bytea, space int, namespace text,
  tasks text[], numbers bigint[], data bytea[])
LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
  v_thread bigint;
  v_space int;
  v_before int := coalesce(p_before, 2147483647);
  t record;
BEGIN
  SELECT key, weft.cp_space_key(key, p_space) INTO v_thread, v_space
  FROM weft.cp_thread WHERE tenant = p_tenant AND cp_thread.id = p_thread;
  IF p_before_id IS NOT NULL THEN
    SELECT s.seq INTO v_before FROM weft.cp_step s WHERE s.thread = v_thread AND s.id = p_before_id;
  END IF;
  RETURN QUERY SELECT s.seq, s.id, s.name, p.id, p.name, s.step, s.source, s.time,
    s.control, o.run, o.version, o.meta, o.digest, s.space, v.name, w.tasks, w.numbers, w.data
  FROM weft.cp_step s
  LEFT JOIN weft.cp_origin o ON o.thread = v_thread AND o.key = s.origin
  LEFT JOIN weft.cp_step p ON s.parent > 0 AND p.thread = v_thread AND p.seq = s.parent
  LEFT JOIN weft.cp_space v ON s.space > 0 AND v.thread = v_thread AND v.key = s.space
  LEFT JOIN LATERAL (SELECT array_agg(w.task ORDER BY w.task, w.number) AS tasks,
      array_agg(w.number ORDER BY w.task, w.number) AS numbers, array_agg(w.data ORDER BY w.task, w.number) AS data
    FROM weft.cp_write w WHERE w.thread = v_thread AND w.seq = s.seq) w ON p_writes
  WHERE s.thread = v_thread AND s.seq < v_before AND (p_space IS NULL OR s.space = v_space)
  AND (p_source IS NULL OR s.source = p_source) AND (p_step IS NULL OR s.step = p_step)
  AND (p_run IS NULL OR o.run = p_run) AND (p_meta IS NULL OR o.meta @> p_meta)
  ORDER BY s.seq DESC LIMIT p_limit;
END
$$;

-- cp_release ends a lease. A thread without checkpoints was there for it only.
CREATE FUNCTION weft.cp_release(p_tenant text, p_thread text, p_owner uuid, p_epoch int) RETURNS void
LANGUAGE plpgsql SET enable_seqscan = off AS $$
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
LANGUAGE plpgsql SET enable_seqscan = off AS $$
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
LANGUAGE plpgsql SET enable_seqscan = off AS $$
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
LANGUAGE plpgsql SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
  t record;
  v_to bigint;
BEGIN
  SELECT key, created, seq, steps, highest, at INTO t FROM weft.cp_thread
  WHERE tenant = p_tenant AND id = p_from AND steps > 0 FOR NO KEY UPDATE;
  IF NOT FOUND THEN RETURN 2; END IF;
  DELETE FROM weft.cp_thread WHERE tenant = p_tenant AND id = p_to AND steps = 0 AND until < clock_timestamp();
  INSERT INTO weft.cp_thread (tenant, id, created, seq, steps, highest, at)
  VALUES (p_tenant, p_to, t.created, t.seq, t.steps, t.highest, t.at)
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

INSERT INTO weft.cp_migration (version, name, checksum) VALUES (2, '002_functions', '13c9231c2e1949159c75622031d2a7bf90e9ef8474ebd684aa51f750b9355ee4');
$script$;
END $once$;
