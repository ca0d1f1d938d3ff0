-- A session is what people want to know of a thread: whether it is still going on, and
-- since when nobody has been at it. It comes with the first checkpoint of its thread
-- and goes with the last. Steps do not write to it: the thread knows its time.
-- Every statement can be run again.

CREATE TABLE IF NOT EXISTS weft.cp_session (
  tenant        text COLLATE "C" NOT NULL,
  thread_id     text COLLATE "C" NOT NULL,
  status        text NOT NULL DEFAULT 'active',
  start_time    timestamptz NOT NULL DEFAULT clock_timestamp(),
  last_activity timestamptz NOT NULL DEFAULT clock_timestamp(), -- other than steps
  metadata      jsonb NOT NULL DEFAULT '{}',
  PRIMARY KEY (tenant, thread_id)
);

CREATE OR REPLACE FUNCTION weft.cp_session_begin() RETURNS trigger LANGUAGE plpgsql SET search_path = '' AS $fn$
BEGIN
  INSERT INTO weft.cp_session (tenant, thread_id) VALUES (NEW.tenant, NEW.id) ON CONFLICT DO NOTHING;
  RETURN NULL;
END
$fn$;

-- A checkpoint that is refused has been counted before, and is discounted: that ends a
-- session only if it has begun just now. What is removed counts forward.
CREATE OR REPLACE FUNCTION weft.cp_session_end() RETURNS trigger LANGUAGE plpgsql SET search_path = '' AS $fn$
DECLARE
  v_refused boolean := false;
BEGIN
  IF TG_OP = 'UPDATE' THEN
    v_refused := NEW.seq < OLD.seq;
  END IF;
  DELETE FROM weft.cp_session WHERE tenant = OLD.tenant AND thread_id = OLD.id
  AND (NOT v_refused OR start_time >= now());
  RETURN NULL;
END
$fn$;

-- cp_session_put sets what is not null, and notes the activity.
CREATE OR REPLACE FUNCTION weft.cp_session_put(p_tenant text, p_thread text, p_status text, p_metadata jsonb)
RETURNS void LANGUAGE sql SET search_path = '' AS $fn$
  INSERT INTO weft.cp_session AS s (tenant, thread_id, status, metadata)
  VALUES (p_tenant, p_thread, coalesce(p_status, 'active'), coalesce(p_metadata, '{}'))
  ON CONFLICT (tenant, thread_id) DO UPDATE SET status = coalesce(p_status, s.status),
    metadata = coalesce(p_metadata, s.metadata), last_activity = clock_timestamp()
$fn$;

-- cp_session_clean removes sessions, with their threads, of one tenant or, for null,
-- of all: those that have one of the statuses, or any for null, and have been idle for
-- so many seconds. It passes over threads that a run has, and over what others work on.
-- It returns how many went, at most p_limit.
CREATE OR REPLACE FUNCTION weft.cp_session_clean(p_tenant text, p_prefix text, p_statuses text[], p_idle float8, p_limit int)
RETURNS int LANGUAGE plpgsql SET search_path = '' AS $fn$
DECLARE
  v_before constant timestamptz := clock_timestamp() - make_interval(secs => p_idle);
  v_key bigint;
  v_count int := 0;
  r record;
BEGIN
  FOR r IN SELECT s.tenant, s.thread_id FROM weft.cp_session s
    LEFT JOIN weft.cp_thread t ON t.tenant = s.tenant AND t.id = s.thread_id
    WHERE (p_tenant IS NULL OR s.tenant = p_tenant) AND starts_with(s.thread_id, p_prefix)
    AND (p_statuses IS NULL OR s.status = ANY (p_statuses))
    AND greatest(s.last_activity, t.at) <= v_before
    AND (t.until IS NULL OR t.until < clock_timestamp()) LIMIT p_limit FOR UPDATE OF s SKIP LOCKED
  LOOP
    -- What was there may be busy by now, and what was not may be there.
    SELECT key INTO v_key FROM weft.cp_thread WHERE tenant = r.tenant AND id = r.thread_id
    AND coalesce(at, v_before) <= v_before AND (until IS NULL OR until < clock_timestamp()) FOR UPDATE SKIP LOCKED;
    IF FOUND THEN
      PERFORM weft.cp_clear(v_key);
    ELSE
      CONTINUE WHEN EXISTS (SELECT FROM weft.cp_thread WHERE tenant = r.tenant AND id = r.thread_id);
    END IF;
    DELETE FROM weft.cp_session s WHERE s.tenant = r.tenant AND s.thread_id = r.thread_id;
    v_count := v_count + 1;
  END LOOP;
  RETURN v_count;
END
$fn$;

DO $do$
DECLARE
  mine constant text := 'tenant = (SELECT auth.uid())::text';
  r record;
BEGIN
  IF NOT EXISTS (SELECT FROM pg_class WHERE oid = 'weft.cp_session'::regclass AND relrowsecurity AND relforcerowsecurity) THEN
    ALTER TABLE weft.cp_session ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
  END IF;
  IF NOT EXISTS (SELECT FROM pg_policy WHERE polrelid = 'weft.cp_session'::regclass) THEN
    EXECUTE 'CREATE POLICY own ON weft.cp_session TO authenticated USING (' || mine || ') WITH CHECK (' || mine || ')';
  END IF;
  -- A thread may be there before its first checkpoint, for a lease.
  FOR r IN SELECT * FROM (VALUES
    ('session_begin', 'INSERT', 'NEW.steps > 0', 'begin'),
    ('session_begin_leased', 'UPDATE OF steps', 'OLD.steps = 0 AND NEW.steps > 0', 'begin'),
    ('session_end', 'DELETE', 'OLD.steps > 0', 'end'),
    ('session_end_leased', 'UPDATE OF steps', 'OLD.steps > 0 AND NEW.steps = 0', 'end')) AS v (name, event, condition, does)
  LOOP
    CONTINUE WHEN EXISTS (SELECT FROM pg_trigger WHERE tgrelid = 'weft.cp_thread'::regclass AND tgname = r.name);
    EXECUTE 'CREATE TRIGGER ' || r.name || ' AFTER ' || r.event || ' ON weft.cp_thread FOR EACH ROW WHEN ('
      || r.condition || ') EXECUTE FUNCTION weft.cp_session_' || r.does || '()';
  END LOOP;
END
$do$;

-- Threads that were there before.
INSERT INTO weft.cp_session (tenant, thread_id, start_time, last_activity)
SELECT tenant, id, created, coalesce(at, created) FROM weft.cp_thread WHERE steps > 0 ON CONFLICT DO NOTHING;

REVOKE ALL ON weft.cp_session FROM PUBLIC, anon, authenticated, service_role;
GRANT SELECT, INSERT, UPDATE, DELETE ON weft.cp_session TO authenticated, service_role;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA weft FROM PUBLIC, anon;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA weft TO authenticated, service_role;

INSERT INTO weft.cp_project (migration) VALUES ('20261121090004_weft_sessions') ON CONFLICT DO NOTHING;
