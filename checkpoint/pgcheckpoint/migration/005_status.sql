-- The nodes at which threads wait or have failed. A row belongs to a pending write of the newest
-- checkpoint of the root namespace. Most threads have no row.
CREATE TABLE weft.cp_open (
  thread bigint NOT NULL,
  task   text COLLATE "C" NOT NULL,
  number bigint NOT NULL,
  node   text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  id     text COLLATE "C" NOT NULL,  -- of the thread
  time   timestamptz NOT NULL,       -- of the checkpoint
  PRIMARY KEY (thread, task, number, node)
) WITH (autovacuum_vacuum_scale_factor = 0.01);

CREATE INDEX cp_open_status ON weft.cp_open (tenant, status, node, id) INCLUDE (time);

-- A constant default changes no row. The column says whether cp_open has rows of the thread, so
-- that a checkpoint of a thread without rows need not look for them. No index has the column.
ALTER TABLE weft.cp_thread ADD COLUMN open boolean NOT NULL DEFAULT false;

-- cp_add_marks adds rows to cp_open. The argument p_marks is a list of objects with task, number,
-- status and node. It leaves out names that together are too long for the index.
CREATE FUNCTION weft.cp_add_marks(p_key bigint, p_time timestamptz, p_marks jsonb) RETURNS void
LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
  INSERT INTO weft.cp_open (thread, task, number, node, status, tenant, id, time)
  SELECT p_key, m.task, m.number, m.node, m.status, t.tenant, t.id, p_time
  FROM jsonb_to_recordset(p_marks) AS m (task text, number bigint, status text, node text)
  JOIN weft.cp_thread t ON t.key = p_key
  WHERE m.status IS NOT NULL AND octet_length(m.node) + octet_length(t.id) + octet_length(t.tenant) < 2500
  ON CONFLICT DO NOTHING;
  IF FOUND THEN
    UPDATE weft.cp_thread SET open = true WHERE key = p_key AND NOT open;
  END IF;
END
$$;

-- cp_set_marks replaces the rows of a thread in cp_open.
CREATE FUNCTION weft.cp_set_marks(p_key bigint, p_time timestamptz, p_marks jsonb) RETURNS void
LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
  DELETE FROM weft.cp_open WHERE thread = p_key;
  UPDATE weft.cp_thread SET open = false WHERE key = p_key AND open;
  IF p_marks <> '[]' THEN
    PERFORM weft.cp_add_marks(p_key, p_time, p_marks);
  END IF;
END
$$;

-- cp_put_marked stores pending writes of the root namespace that change the status of the thread.
-- An object of p_marks without a status removes the row of a pending write, and without a number
-- all rows of a task. If the checkpoint is not the newest, the status stays.
CREATE FUNCTION weft.cp_put_marked(
  p_tenant text, p_thread text, p_owner uuid, p_epoch int, p_ttl float8,
  p_space text, p_id uuid, p_tasks text[], p_numbers bigint[], p_data bytea[], p_marks jsonb)
RETURNS int
LANGUAGE plpgsql SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
  v_status int := weft.cp_put_writes(p_tenant, p_thread, p_owner, p_epoch, p_ttl, p_space, p_id, p_tasks, p_numbers, p_data);
  t record;
  s record;
BEGIN
  IF v_status <> 0 THEN RETURN v_status; END IF;
  SELECT key, open INTO t FROM weft.cp_thread WHERE tenant = p_tenant AND id = p_thread;
  IF NOT t.open AND NOT p_marks @> '[{"status": "paused"}]' AND NOT p_marks @> '[{"status": "failed"}]' THEN
    RETURN 0;
  END IF;
  SELECT id, time INTO s FROM weft.cp_step WHERE thread = t.key AND space = 0 ORDER BY seq DESC LIMIT 1;
  IF s.id <> p_id THEN RETURN 0; END IF;
  IF t.open THEN
    DELETE FROM weft.cp_open o USING jsonb_to_recordset(p_marks) AS m (task text, number bigint, status text)
    WHERE o.thread = t.key AND o.task = m.task AND m.status IS NULL AND (m.number IS NULL OR o.number = m.number);
  END IF;
  PERFORM weft.cp_add_marks(t.key, s.time, p_marks);
  RETURN 0;
END
$$;

-- cp_last_key returns the key of the last thread that was created before a time. Keys are given in
-- the order of time, so a binary search finds it. A copy has the time of its source, and can
-- make the result too high.
CREATE FUNCTION weft.cp_last_key(p_before timestamptz) RETURNS bigint
LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
DECLARE
  v_low bigint := 0;
  v_high bigint := (SELECT max(key) FROM weft.cp_thread);
  v_middle bigint;
  t record;
BEGIN
  WHILE v_low < v_high LOOP
    v_middle := v_low + (v_high - v_low) / 2;
    SELECT key, created INTO t FROM weft.cp_thread WHERE key > v_middle ORDER BY key LIMIT 1;
    IF t.created < p_before THEN
      v_low := t.key;
    ELSE
      v_high := v_middle;
    END IF;
  END LOOP;
  RETURN v_low;
END
$$;

-- cp_waits reports whether the newest checkpoint of a namespace of the thread has pending writes.
CREATE FUNCTION weft.cp_waits(p_key bigint) RETURNS boolean
LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT FROM weft.cp_write w WHERE w.thread = p_key AND w.seq = (
    SELECT max(n.seq) FROM weft.cp_step s JOIN weft.cp_step n ON n.thread = s.thread AND n.space = s.space
    WHERE s.thread = p_key AND s.seq = w.seq))
$$;

-- cp_idle reports whether a thread is idle: its newest checkpoint is older than p_idle seconds, it
-- has no tag, no run holds it, and with p_keep it does not wait.
CREATE FUNCTION weft.cp_idle(t weft.cp_thread, p_idle float8, p_keep boolean) RETURNS boolean
LANGUAGE sql STABLE AS $$
  SELECT coalesce(t.at, t.created) <= clock_timestamp() - make_interval(secs => p_idle)
    AND (t.owner IS NULL OR t.until < clock_timestamp())
    AND NOT EXISTS (SELECT FROM weft.cp_tag g WHERE g.thread = t.key)
    AND NOT (p_keep AND weft.cp_waits(t.key))
$$;

-- cp_delete_idle deletes those of the threads that are still idle. It skips threads that another
-- transaction has locked. It returns the number of threads and of their checkpoints.
CREATE FUNCTION weft.cp_delete_idle(p_keys bigint[], p_idle float8, p_keep boolean) RETURNS TABLE (threads int, checkpoints int)
LANGUAGE plpgsql SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
  v_keys bigint[];
BEGIN
  SELECT array_agg(t.key), count(*), coalesce(sum(t.steps), 0) INTO v_keys, threads, checkpoints FROM (
    SELECT i.key, i.steps FROM weft.cp_thread i WHERE i.key = ANY (p_keys) AND i.steps > 0
    AND weft.cp_idle(i, p_idle, p_keep) ORDER BY i.key FOR UPDATE SKIP LOCKED) t;
  IF threads > 0 THEN
    DELETE FROM weft.cp_write WHERE thread = ANY (v_keys);
    DELETE FROM weft.cp_step WHERE thread = ANY (v_keys);
    DELETE FROM weft.cp_origin WHERE thread = ANY (v_keys);
    DELETE FROM weft.cp_space WHERE thread = ANY (v_keys);
    DELETE FROM weft.cp_open WHERE thread = ANY (v_keys);
    DELETE FROM weft.cp_thread WHERE key = ANY (v_keys);
  END IF;
  RETURN NEXT;
END
$$;

-- cp_put stores a checkpoint. If p_again is set, an earlier call may have stored the checkpoint, and
-- to find it is success. A new checkpoint of the root namespace ends the status of its thread.
CREATE OR REPLACE FUNCTION weft.cp_put(
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
  -- Almost every checkpoint follows the newest of its thread, in the root namespace and
  -- the same run.
  IF p_space = '' AND p_parent = p_head THEN
    UPDATE weft.cp_thread SET seq = seq + 1, steps = steps + 1, head = p_id, highest = p_id,
      at = greatest(clock_timestamp(), at), parent = newest, newest = seq + 1,
      root = CASE WHEN p_snapshot IS NULL THEN root ELSE seq + 1 END,
      until = CASE WHEN p_owner IS NULL THEN until ELSE clock_timestamp() + make_interval(secs => p_ttl) END
    WHERE tenant = p_tenant AND id = p_thread AND head = p_head AND digest = p_digest AND highest < p_id
    AND (p_owner IS NULL OR owner = p_owner AND epoch = p_epoch)
    RETURNING key, seq, at, parent, branch, root, origin, open INTO t;
    IF FOUND THEN
      IF t.open THEN
        PERFORM weft.cp_set_marks(t.key, t.at, '[]');
      END IF;
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
    RETURNING key, seq, open INTO t;
    EXIT WHEN FOUND;
    IF p_owner IS NOT NULL THEN RETURN 3; END IF;
    IF p_head IS NOT NULL THEN RETURN 1; END IF;
    IF p_parent IS NOT NULL THEN RETURN 2; END IF;
    INSERT INTO weft.cp_thread (tenant, id, seq, steps) VALUES (p_tenant, p_thread, 1, 1)
    ON CONFLICT (tenant, id) DO NOTHING RETURNING key, seq, open INTO t;
    EXIT WHEN FOUND;
  END LOOP;
  IF t.key IS NULL THEN
    RETURN 1; -- the thread exists, and the caller may not see it
  END IF;

  IF p_space <> '' THEN
    SELECT key INTO v_space FROM weft.cp_space WHERE thread = t.key AND name = p_space;
  END IF;
  -- The newest checkpoint of the thread is usually the newest of the namespace.
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

  -- From here on, a refused checkpoint is counted in the row of the thread already.
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
  IF v_space = 0 AND t.open THEN
    PERFORM weft.cp_set_marks(t.key, n_time, '[]');
  END IF;
  IF p_settles AND v_parent <> 0 THEN
    DELETE FROM weft.cp_write WHERE thread = t.key AND seq = v_parent;
  END IF;
  RETURN 0;
END
$$;

-- cp_clear removes the rows of a thread, and the thread too unless a run has its lease. The
-- caller has locked the row of the thread.
CREATE OR REPLACE FUNCTION weft.cp_clear(p_key bigint) RETURNS void
LANGUAGE plpgsql SET enable_seqscan = off AS $$
#variable_conflict use_column
BEGIN
  DELETE FROM weft.cp_tag WHERE thread = p_key;
  DELETE FROM weft.cp_write WHERE thread = p_key;
  DELETE FROM weft.cp_step WHERE thread = p_key;
  DELETE FROM weft.cp_origin WHERE thread = p_key;
  DELETE FROM weft.cp_space WHERE thread = p_key;
  DELETE FROM weft.cp_open WHERE thread = p_key;
  UPDATE weft.cp_thread SET steps = 0, seq = seq + 1, head = NULL, open = false WHERE key = p_key AND until >= clock_timestamp();
  IF NOT FOUND THEN
    DELETE FROM weft.cp_thread WHERE key = p_key;
  END IF;
END
$$;

-- cp_copy copies the rows of a thread to a thread that does not exist.
CREATE OR REPLACE FUNCTION weft.cp_copy(p_tenant text, p_from text, p_to text) RETURNS int
LANGUAGE plpgsql SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
  t record;
  v_to bigint;
BEGIN
  SELECT key, created, seq, steps, highest, at, open INTO t FROM weft.cp_thread
  WHERE tenant = p_tenant AND id = p_from AND steps > 0 FOR NO KEY UPDATE;
  IF NOT FOUND THEN RETURN 2; END IF;
  DELETE FROM weft.cp_thread WHERE tenant = p_tenant AND id = p_to AND steps = 0 AND until < clock_timestamp();
  INSERT INTO weft.cp_thread (tenant, id, created, seq, steps, highest, at, open)
  VALUES (p_tenant, p_to, t.created, t.seq, t.steps, t.highest, t.at, t.open)
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
  INSERT INTO weft.cp_open (thread, task, number, node, status, tenant, id, time)
  SELECT v_to, task, number, node, status, tenant, p_to, time FROM weft.cp_open WHERE thread = t.key;
  RETURN 0;
END
$$;
