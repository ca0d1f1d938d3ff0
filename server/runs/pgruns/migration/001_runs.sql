-- Changes of the status of a record touch no index, so that they are cheap.
CREATE TABLE weft.run_record (
  kind     text COLLATE "C" NOT NULL,
  id       text COLLATE "C" NOT NULL,
  parent   text COLLATE "C" NOT NULL,
  owner    text COLLATE "C" NOT NULL,
  graph    text COLLATE "C" NOT NULL,
  name     text COLLATE "C" NOT NULL,
  folded   text COLLATE "C" NOT NULL,  -- the name in lower case
  status   text COLLATE "C" NOT NULL,
  created  timestamptz NOT NULL,
  updated  timestamptz NOT NULL,
  expires  timestamptz,                -- null for never
  revision bigint NOT NULL DEFAULT 1,
  labels   jsonb NOT NULL,             -- the metadata in the form that searches compare
  metadata bytea,
  data     bytea,
  PRIMARY KEY (kind, id)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);

CREATE INDEX run_record_parent ON weft.run_record (parent, kind, created);
CREATE INDEX run_record_created ON weft.run_record (kind, created, id);
CREATE INDEX run_record_expires ON weft.run_record (expires) WHERE expires IS NOT NULL;
CREATE INDEX run_record_labels ON weft.run_record USING gin (labels jsonb_path_ops) WHERE kind <> 'run';

-- The event log of a thread.
CREATE TABLE weft.run_log (
  key     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  thread  text COLLATE "C" NOT NULL UNIQUE,
  last    bigint NOT NULL DEFAULT 0,  -- the number of the last event
  trimmed bigint NOT NULL DEFAULT 0,  -- the highest number that was trimmed
  events  bigint NOT NULL DEFAULT 0,  -- how many events there are
  bytes   bigint NOT NULL DEFAULT 0,  -- the size of their data
  batch   uuid                        -- of the last call of run_append
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

CREATE TABLE weft.run_event (
  log  bigint NOT NULL,
  seq  bigint NOT NULL,
  time timestamptz NOT NULL,
  run  text COLLATE "C" NOT NULL,
  head bytea NOT NULL,  -- the other fields as JSON
  data bytea,
  PRIMARY KEY (log, seq)
);

CREATE INDEX run_event_time ON weft.run_event (time);

CREATE TABLE weft.run_task (
  key        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  thread     text COLLATE "C" NOT NULL,
  id         text COLLATE "C" NOT NULL,
  checkpoint text COLLATE "C" NOT NULL,
  data       bytea,
  UNIQUE (thread, id)
);

CREATE INDEX run_task_checkpoint ON weft.run_task (thread, checkpoint);

-- The functions raise WR001 for a conflict, and WR002 for a record that does not exist.

-- run_replace replaces a record of a revision. It has no effect if the batch of p_batch is stored:
-- then an earlier call has replaced the record, and its answer was lost.
CREATE FUNCTION weft.run_replace(
  p_thread text, p_batch uuid, p_kind text, p_id text, p_revision bigint, p_parent text, p_owner text, p_graph text, p_name text,
  p_folded text, p_status text, p_created timestamptz, p_updated timestamptz, p_expires timestamptz, p_labels jsonb, p_metadata bytea, p_data bytea)
RETURNS void LANGUAGE plpgsql AS $f$
BEGIN
  IF p_batch IS NOT NULL AND EXISTS (SELECT FROM weft.run_log WHERE thread = p_thread AND batch = p_batch) THEN
    RETURN;
  END IF;
  UPDATE weft.run_record SET parent = p_parent, owner = p_owner, graph = p_graph, name = p_name, folded = p_folded, status = p_status,
    created = p_created, updated = p_updated, expires = p_expires, labels = p_labels, metadata = p_metadata, data = p_data, revision = revision + 1
  WHERE kind = p_kind AND id = p_id AND revision = p_revision;
  IF FOUND THEN
    RETURN;
  ELSIF EXISTS (SELECT FROM weft.run_record WHERE kind = p_kind AND id = p_id) THEN
    RAISE EXCEPTION 'record' USING ERRCODE = 'WR001';
  END IF;
  RAISE EXCEPTION 'record' USING ERRCODE = 'WR002';
END $f$;

-- run_append adds events to the log of a thread, if their numbers follow it.
CREATE FUNCTION weft.run_append(p_thread text, p_batch uuid, p_first bigint, p_times timestamptz[], p_runs text[], p_heads bytea[], p_data bytea[], p_bytes bigint)
RETURNS void LANGUAGE plpgsql AS $f$
DECLARE
  v_log bigint;
  v_count int := cardinality(p_times);
BEGIN
  UPDATE weft.run_log SET last = last + v_count, events = events + v_count, bytes = bytes + p_bytes, batch = p_batch
  WHERE thread = p_thread AND last = p_first - 1 RETURNING key INTO v_log;
  IF NOT FOUND THEN
    IF EXISTS (SELECT FROM weft.run_log WHERE thread = p_thread AND batch = p_batch) THEN
      RETURN;
    END IF;
    IF p_first = 1 THEN
      INSERT INTO weft.run_log (thread, last, events, bytes, batch) VALUES (p_thread, v_count, v_count, p_bytes, p_batch)
      ON CONFLICT DO NOTHING RETURNING key INTO v_log;
    END IF;
    IF v_log IS NULL THEN
      RAISE EXCEPTION 'log' USING ERRCODE = 'WR001';
    END IF;
  END IF;
  INSERT INTO weft.run_event (log, seq, time, run, head, data)
  SELECT v_log, p_first + u.n - 1, u.time, u.run, u.head, u.data
  FROM unnest(p_times, p_runs, p_heads, p_data) WITH ORDINALITY AS u (time, run, head, data, n);
END $f$;

-- run_trim removes the oldest events of a log until it is within bounds. A null bound is none.
CREATE FUNCTION weft.run_trim(p_log bigint, p_since timestamptz, p_events bigint, p_bytes bigint)
RETURNS bigint LANGUAGE plpgsql AS $f$
DECLARE
  v_log record;
  v_cut bigint;
  v_many bigint;
  v_count bigint;
  v_bytes bigint;
BEGIN
  SELECT events, bytes INTO v_log FROM weft.run_log WHERE key = p_log FOR UPDATE;
  IF NOT FOUND THEN
    RETURN 0;
  END IF;
  SELECT coalesce(max(seq), 0) INTO v_cut FROM weft.run_event WHERE log = p_log AND time < p_since;
  IF v_log.events > p_events OR v_log.bytes > p_bytes THEN
    SELECT coalesce(max(e.seq), 0) INTO v_many FROM (
      SELECT seq, row_number() OVER newest AS n, sum(coalesce(octet_length(data), 0)) OVER newest AS size
      FROM weft.run_event WHERE log = p_log WINDOW newest AS (ORDER BY seq DESC)) e
    WHERE e.n > p_events OR e.size > p_bytes;
    v_cut := greatest(v_cut, v_many);
  END IF;
  IF v_cut = 0 THEN
    RETURN 0;
  END IF;
  WITH gone AS (DELETE FROM weft.run_event WHERE log = p_log AND seq <= v_cut RETURNING octet_length(data) AS size)
  SELECT count(*), coalesce(sum(size), 0) INTO v_count, v_bytes FROM gone;
  UPDATE weft.run_log SET events = events - v_count, bytes = bytes - v_bytes, trimmed = greatest(trimmed, v_cut) WHERE key = p_log;
  RETURN v_count;
END $f$;

-- run_delete removes a record with all that belongs to it.
CREATE FUNCTION weft.run_delete(p_kind text, p_id text) RETURNS void LANGUAGE plpgsql AS $f$
DECLARE
  v_parent text;
  v_log bigint;
  v_count bigint;
  v_bytes bigint;
BEGIN
  DELETE FROM weft.run_record WHERE kind = p_kind AND id = p_id RETURNING parent INTO v_parent;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'record' USING ERRCODE = 'WR002';
  END IF;
  IF p_kind = 'assistant' THEN
    DELETE FROM weft.run_record WHERE kind = 'version' AND parent = p_id;
  ELSIF p_kind = 'thread' THEN
    DELETE FROM weft.run_record WHERE kind = 'run' AND parent = p_id;
    DELETE FROM weft.run_task WHERE thread = p_id;
    DELETE FROM weft.run_log WHERE thread = p_id RETURNING key INTO v_log;
    DELETE FROM weft.run_event WHERE log = v_log;
  ELSIF p_kind = 'run' THEN
    SELECT key INTO v_log FROM weft.run_log WHERE thread = v_parent FOR UPDATE;
    WITH gone AS (DELETE FROM weft.run_event WHERE log = v_log AND run = p_id RETURNING octet_length(data) AS size)
    SELECT count(*), coalesce(sum(size), 0) INTO v_count, v_bytes FROM gone;
    UPDATE weft.run_log SET events = events - v_count, bytes = bytes - v_bytes WHERE key = v_log;
  END IF;
END $f$;
