-- Tenants, sizes and quotas of users, and the plan of a user. Every statement can run again.

-- mem_tenants returns the tenants in which the user of the token may write: the empty tenant, and those of the claim
-- app_metadata.tenants, which is a text or an array of texts. Users cannot change app_metadata.
CREATE OR REPLACE FUNCTION weft.mem_tenants() RETURNS text[] LANGUAGE sql STABLE SET search_path = '' AS $fn$
  SELECT ARRAY[''] || CASE jsonb_typeof(c.tenants)
    WHEN 'array' THEN ARRAY(SELECT t.name FROM jsonb_array_elements_text(c.tenants) AS t (name) WHERE t.name IS NOT NULL)
    WHEN 'string' THEN ARRAY[c.tenants #>> '{}'] ELSE '{}' END
  FROM (SELECT auth.jwt() #> '{app_metadata,tenants}' AS tenants) c
$fn$;

-- Restrictive policies limit the writes of users to their tenants. USING is true, because a user may lock and delete
-- all own rows.
DO $do$
DECLARE
  allowed constant text := 's.tenant = ANY ((SELECT weft.mem_tenants())::text[])';
  r record;
BEGIN
  FOR r IN SELECT v.name, CASE
      WHEN v.parent = '' THEN replace(allowed, 's.tenant', 'tenant')
      WHEN v.parent = 'mem_session' THEN 'EXISTS (SELECT FROM weft.mem_session s WHERE s.key = session AND ' || allowed || ')'
      ELSE v.ref || ' = ANY (ARRAY(SELECT s.key FROM weft.' || v.parent || ' s WHERE ' || allowed || '))' END AS holds
    FROM (VALUES ('mem_scope', '', ''), ('mem_session', '', ''), ('mem_value_scope', '', ''), ('mem_shelf', '', ''),
      ('mem_fact', 'scope', 'mem_scope'), ('mem_event', 'scope', 'mem_scope'), ('mem_job', 'scope', 'mem_scope'), ('mem_turn', 'scope', 'mem_scope'),
      ('mem_source', 'shelf', 'mem_shelf'), ('mem_chunk', 'shelf', 'mem_shelf'), ('mem_message', 'session', 'mem_session'),
      ('mem_value', 'scope', 'mem_value_scope')) AS v (name, ref, parent)
  LOOP
    CONTINUE WHEN EXISTS (SELECT FROM pg_policy WHERE polrelid = ('weft.' || r.name)::regclass AND polname = 'tenant_insert');
    EXECUTE 'CREATE POLICY tenant_insert ON weft.' || r.name || ' AS RESTRICTIVE FOR INSERT TO authenticated WITH CHECK (' || r.holds || ')';
    EXECUTE 'CREATE POLICY tenant_update ON weft.' || r.name || ' AS RESTRICTIVE FOR UPDATE TO authenticated USING (true) WITH CHECK (' || r.holds || ')';
  END LOOP;
END
$do$;

-- The limits of package memory and its subpackages, in bytes. They hold for new and changed rows.
DO $do$
DECLARE
  names constant text := 'octet_length(tenant) <= 512 AND octet_length(workspace) <= 512 AND octet_length(user_id) <= 512 AND octet_length(agent) <= 512';
  r record;
BEGIN
  FOR r IN SELECT * FROM (VALUES
    ('mem_scope', names), ('mem_value_scope', names), ('mem_shelf', names),
    ('mem_fact', 'octet_length(content) <= 16384 AND octet_length(raw) <= 16384 AND octet_length(metadata::text) <= 65536 AND octet_length(conversation) <= 512'),
    ('mem_event', 'octet_length(was) <= 16384 AND octet_length(became) <= 16384'),
    ('mem_session', names || ' AND octet_length(id) <= 512 AND octet_length(title) <= 2048 AND octet_length(raw) <= 16384 AND octet_length(metadata::text) <= 65536'),
    ('mem_message', 'octet_length(id) <= 512 AND octet_length(text) <= 16777216 AND octet_length(data::text) <= 16777216'),
    ('mem_source', 'octet_length(uri) <= 1024 AND octet_length(title) <= 2048 AND octet_length(raw) <= 16384 AND octet_length(metadata::text) <= 65536'),
    ('mem_chunk', 'octet_length(content) <= 131072'),
    ('mem_value', 'octet_length(raw::text) <= 4194304 AND octet_length(name) <= 4096'),
    ('mem_turn', 'octet_length(payload) <= 4194304')) AS v (name, holds)
  LOOP
    CONTINUE WHEN EXISTS (SELECT FROM pg_constraint WHERE conrelid = ('weft.' || r.name)::regclass AND conname = r.name || '_size');
    EXECUTE 'ALTER TABLE weft.' || r.name || ' ADD CONSTRAINT ' || r.name || '_size CHECK (' || r.holds || ') NOT VALID';
  END LOOP;
END
$do$;

-- The quota of a user, in rows. The user '' stands for all users whose row is missing or has null. Null there means any number.
CREATE TABLE IF NOT EXISTS weft.mem_quota (
  user_id      text COLLATE "C" PRIMARY KEY CHECK (octet_length(user_id) <= 512),
  max_facts    bigint CHECK (max_facts >= 0),
  max_messages bigint CHECK (max_messages >= 0), -- also the greatest number of sessions
  max_chunks   bigint CHECK (max_chunks >= 0),
  max_values   bigint CHECK (max_values >= 0)
);

DO $do$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_class WHERE oid = 'weft.mem_quota'::regclass AND relrowsecurity AND relforcerowsecurity) THEN
    ALTER TABLE weft.mem_quota ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
  END IF;
  IF NOT EXISTS (SELECT FROM pg_policy WHERE polrelid = 'weft.mem_quota'::regclass) THEN
    CREATE POLICY own_read ON weft.mem_quota FOR SELECT TO authenticated USING (user_id = (SELECT auth.uid())::text OR user_id = '');
  END IF;
END $do$;

-- mem_keep_quota refuses rows beyond the quota of their user, for every role. The lock lets the transactions of a user
-- count one after the other. The isolation level has to be READ COMMITTED, which is the default.
CREATE OR REPLACE FUNCTION weft.mem_keep_quota() RETURNS trigger LANGUAGE plpgsql SET search_path = '' AS $fn$
DECLARE
  v_users text[];
  v_user text;
  v_most bigint;
  v_count bigint;
BEGIN
  IF NOT EXISTS (SELECT FROM weft.mem_quota) THEN
    RETURN NULL;
  END IF;
  CASE TG_ARGV[0]
  WHEN 'facts' THEN
    v_users := ARRAY(SELECT DISTINCT s.user_id FROM fresh f JOIN weft.mem_scope s ON s.key = f.scope WHERE s.user_id <> '' ORDER BY 1);
  WHEN 'chunks' THEN
    v_users := ARRAY(SELECT DISTINCT s.user_id FROM fresh f JOIN weft.mem_shelf s ON s.key = f.shelf WHERE s.user_id <> '' ORDER BY 1);
  WHEN 'values' THEN
    v_users := ARRAY(SELECT DISTINCT s.user_id FROM fresh f JOIN weft.mem_value_scope s ON s.key = f.scope WHERE s.user_id <> '' ORDER BY 1);
  WHEN 'messages' THEN
    v_users := ARRAY(SELECT DISTINCT s.user_id FROM fresh f JOIN weft.mem_session s ON s.key = f.session WHERE s.user_id <> '' ORDER BY 1);
  WHEN 'sessions' THEN
    v_users := ARRAY(SELECT DISTINCT f.user_id FROM fresh f WHERE f.user_id <> '' ORDER BY 1);
  END CASE;
  FOREACH v_user IN ARRAY v_users LOOP
    SELECT CASE TG_ARGV[0]
      WHEN 'facts' THEN coalesce(max(q.max_facts) FILTER (WHERE q.user_id <> ''), max(q.max_facts) FILTER (WHERE q.user_id = ''))
      WHEN 'chunks' THEN coalesce(max(q.max_chunks) FILTER (WHERE q.user_id <> ''), max(q.max_chunks) FILTER (WHERE q.user_id = ''))
      WHEN 'values' THEN coalesce(max(q.max_values) FILTER (WHERE q.user_id <> ''), max(q.max_values) FILTER (WHERE q.user_id = ''))
      ELSE coalesce(max(q.max_messages) FILTER (WHERE q.user_id <> ''), max(q.max_messages) FILTER (WHERE q.user_id = '')) END
    INTO v_most FROM weft.mem_quota q WHERE q.user_id IN (v_user, '');
    CONTINUE WHEN v_most IS NULL;
    PERFORM pg_advisory_xact_lock(hashtextextended('weft memory quota ' || v_user, 0));
    v_count := CASE TG_ARGV[0]
      WHEN 'facts' THEN (SELECT count(*) FROM (SELECT FROM weft.mem_scope s JOIN weft.mem_fact f ON f.scope = s.key
        WHERE s.user_id = v_user LIMIT v_most + 1) c)
      WHEN 'chunks' THEN (SELECT count(*) FROM (SELECT FROM weft.mem_shelf s JOIN weft.mem_chunk f ON f.shelf = s.key
        WHERE s.user_id = v_user LIMIT v_most + 1) c)
      WHEN 'values' THEN (SELECT count(*) FROM (SELECT FROM weft.mem_value_scope s JOIN weft.mem_value f ON f.scope = s.key
        WHERE s.user_id = v_user LIMIT v_most + 1) c)
      WHEN 'messages' THEN (SELECT count(*) FROM (SELECT FROM weft.mem_session s JOIN weft.mem_message f ON f.session = s.key
        WHERE s.user_id = v_user LIMIT v_most + 1) c)
      ELSE (SELECT count(*) FROM (SELECT FROM weft.mem_session s WHERE s.user_id = v_user LIMIT v_most + 1) c) END;
    IF v_count > v_most THEN
      RAISE SQLSTATE 'WQ001' USING MESSAGE = format('user %s would have more than %s %s', v_user, v_most, TG_ARGV[0]),
        HINT = 'Delete some, or let the service raise the quota in user_quota.';
    END IF;
  END LOOP;
  RETURN NULL;
END
$fn$;

-- mem_plan returns what the context of a user says of plan and usage, and [] for other values. A program may read names of
-- members without regard to case, and the last of several with one name.
CREATE OR REPLACE FUNCTION weft.mem_plan(p_namespace text[], p_name text, p_raw json) RETURNS jsonb LANGUAGE sql STABLE SET search_path = '' AS $fn$
  SELECT CASE WHEN p_namespace = ARRAY[E'weft\x2eprofile'] AND p_name = 'context' AND json_typeof(p_raw) = 'object' THEN
    (SELECT coalesce(jsonb_agg(jsonb_build_array(m.key, m.value) ORDER BY m.key, m.value::text), '[]') FROM json_each(p_raw) AS m (key, value)
      WHERE lower(upper(m.key)) IN ('plan', 'usage') AND json_typeof(m.value) <> 'null') ELSE '[]' END
$fn$;

-- mem_keep_plan refuses it when a user changes plan or usage. When a user deletes the value that has them, only they stay.
CREATE OR REPLACE FUNCTION weft.mem_keep_plan() RETURNS trigger LANGUAGE plpgsql SET search_path = '' AS $fn$
DECLARE
  v_was jsonb := '[]';
  v_is jsonb := '[]';
BEGIN
  IF NOT row_security_active('weft.mem_value') THEN -- the service
    RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
  END IF;
  IF TG_OP <> 'INSERT' THEN
    v_was := weft.mem_plan(OLD.namespace, OLD.name, OLD.raw);
  END IF;
  IF TG_OP = 'DELETE' THEN
    IF v_was = '[]' THEN
      RETURN OLD;
    END IF;
    UPDATE weft.mem_value v SET value = k.kept::jsonb, raw = k.kept, version = v.version + 1, updated_at = clock_timestamp(),
      terms = '{}', words = '{}', word_count = 0, model = '', space = NULL, embedding = NULL
    FROM (SELECT json_object_agg(m.key, m.value) AS kept FROM json_each(OLD.raw) AS m (key, value) WHERE lower(upper(m.key)) IN ('plan', 'usage')) k
    WHERE v.key = OLD.key;
    RETURN NULL;
  END IF;
  v_is := weft.mem_plan(NEW.namespace, NEW.name, NEW.raw);
  IF v_is <> v_was OR v_is <> weft.mem_plan(NEW.namespace, NEW.name, NEW.value::json)
    OR TG_OP = 'UPDATE' AND v_was <> '[]' AND (NEW.scope <> OLD.scope OR NEW.expires_at IS DISTINCT FROM OLD.expires_at AND NOT (OLD.refresh AND NEW.refresh AND NEW.ttl = OLD.ttl)) THEN
    RAISE 'only the service changes plan and usage of a user' USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN NEW;
END
$fn$;

-- mem_keep_scope keeps the scope of values that mem_keep_plan has kept.
CREATE OR REPLACE FUNCTION weft.mem_keep_scope() RETURNS trigger LANGUAGE plpgsql SET search_path = '' AS $fn$
BEGIN
  IF row_security_active('weft.mem_value') AND EXISTS (SELECT FROM weft.mem_value v WHERE v.scope = OLD.key) THEN
    RETURN NULL;
  END IF;
  RETURN OLD;
END
$fn$;

DO $do$
DECLARE
  r record;
BEGIN
  FOR r IN SELECT * FROM (VALUES ('mem_fact', 'facts'), ('mem_chunk', 'chunks'), ('mem_value', 'values'), ('mem_message', 'messages'),
    ('mem_session', 'sessions')) AS v (name, kind) LOOP
    CONTINUE WHEN EXISTS (SELECT FROM pg_trigger WHERE tgrelid = ('weft.' || r.name)::regclass AND tgname = 'keep_quota');
    EXECUTE 'CREATE TRIGGER keep_quota AFTER INSERT ON weft.' || r.name || ' REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT
      EXECUTE FUNCTION weft.mem_keep_quota(' || quote_literal(r.kind) || ')';
  END LOOP;
  IF NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = 'weft.mem_value'::regclass AND tgname = 'keep_plan') THEN
    -- It runs after the row is written: before, an INSERT with ON CONFLICT DO UPDATE would look like an INSERT.
    CREATE TRIGGER keep_plan AFTER INSERT OR UPDATE ON weft.mem_value FOR EACH ROW EXECUTE FUNCTION weft.mem_keep_plan();
    CREATE TRIGGER keep_plan_deleted BEFORE DELETE ON weft.mem_value FOR EACH ROW EXECUTE FUNCTION weft.mem_keep_plan();
    CREATE TRIGGER keep_scope BEFORE DELETE ON weft.mem_value_scope FOR EACH ROW EXECUTE FUNCTION weft.mem_keep_scope();
  END IF;
  FOR r IN SELECT p.oid::regprocedure AS f FROM pg_proc p WHERE p.pronamespace = 'weft'::regnamespace
    AND p.proname IN ('mem_tenants', 'mem_keep_quota', 'mem_plan', 'mem_keep_plan', 'mem_keep_scope') LOOP
    EXECUTE 'REVOKE ALL ON FUNCTION ' || r.f || ' FROM PUBLIC, anon';
    EXECUTE 'GRANT EXECUTE ON FUNCTION ' || r.f || ' TO authenticated, service_role';
  END LOOP;
END
$do$;

-- The names of a scope do not change: a renamed scope would hide the plan of its user.
REVOKE UPDATE ON weft.mem_value_scope FROM authenticated;
GRANT UPDATE (newest) ON weft.mem_value_scope TO authenticated;
REVOKE ALL ON weft.mem_quota FROM PUBLIC, anon, authenticated;
GRANT SELECT ON weft.mem_quota TO authenticated;
GRANT SELECT, INSERT, UPDATE, DELETE ON weft.mem_quota TO service_role;
