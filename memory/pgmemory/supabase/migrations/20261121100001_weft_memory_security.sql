-- Who may see what is remembered: a user what is of the user, the service role everything,
-- and nobody else anything. Every statement can be run again.

-- The policies ask for the user, and for the user's scopes, once a statement and not once a row.
DO $do$
DECLARE
  mine constant text := 'user_id = (SELECT auth.uid())::text';
  its constant text := 'scope = ANY (ARRAY(SELECT s.key FROM weft.mem_scope s WHERE s.' || mine || '))';
  me constant text := 'owner = (SELECT weft.mem_digest(auth.uid()::text))';
  r record;
BEGIN
  FOR r IN SELECT * FROM (VALUES
    ('mem_scope', mine, mine), ('mem_fact', its, its), ('mem_event', its, its), ('mem_job', its, its),
    -- That all of a tenant was forgotten counts for everybody, and is nobody's to say.
    ('mem_forgotten', me || ' OR owner = (SELECT weft.mem_digest(''''))', me), ('mem_migration', NULL, NULL)) AS v (name, sees, writes)
  LOOP
    IF NOT EXISTS (SELECT FROM pg_class WHERE oid = ('weft.' || r.name)::regclass AND relrowsecurity AND relforcerowsecurity) THEN
      EXECUTE 'ALTER TABLE weft.' || r.name || ' ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY';
    END IF;
    CONTINUE WHEN EXISTS (SELECT FROM pg_policy WHERE polrelid = ('weft.' || r.name)::regclass);
    IF r.sees IS NULL THEN
      -- What has been applied is no secret, and is written by who applies it.
      EXECUTE 'CREATE POLICY all_read ON weft.' || r.name || ' FOR SELECT USING (true)';
      EXECUTE 'CREATE POLICY owner_writes ON weft.' || r.name || ' TO CURRENT_USER USING (true) WITH CHECK (true)';
    ELSE
      EXECUTE 'CREATE POLICY own_read ON weft.' || r.name || ' FOR SELECT TO authenticated USING (' || r.sees || ')';
      EXECUTE 'CREATE POLICY own_insert ON weft.' || r.name || ' FOR INSERT TO authenticated WITH CHECK (' || r.writes || ')';
      EXECUTE 'CREATE POLICY own_update ON weft.' || r.name || ' FOR UPDATE TO authenticated USING (' || r.writes || ') WITH CHECK (' || r.writes || ')';
      EXECUTE 'CREATE POLICY own_delete ON weft.' || r.name || ' FOR DELETE TO authenticated USING (' || r.writes || ')';
    END IF;
  END LOOP;
END
$do$;

REVOKE ALL ON SCHEMA weft FROM PUBLIC, anon;
REVOKE ALL ON weft.mem_scope, weft.mem_fact, weft.mem_event, weft.mem_job, weft.mem_forgotten, weft.mem_migration
  FROM PUBLIC, anon, authenticated, service_role;
-- Who logs in to take on these roles has to see the schema to prepare statements, and
-- may do nothing in it.
GRANT USAGE ON SCHEMA weft TO authenticated, service_role, authenticator;
GRANT SELECT, INSERT, UPDATE, DELETE ON weft.mem_scope, weft.mem_fact, weft.mem_job, weft.mem_forgotten TO authenticated, service_role;
GRANT SELECT, INSERT, DELETE ON weft.mem_event TO authenticated, service_role;
GRANT SELECT ON weft.mem_migration TO authenticated, service_role;

DO $do$
DECLARE
  r record;
BEGIN
  FOR r IN SELECT p.oid::regprocedure AS f FROM pg_proc p WHERE p.pronamespace = 'weft'::regnamespace AND p.proname LIKE 'mem\_%' LOOP
    EXECUTE 'REVOKE ALL ON FUNCTION ' || r.f || ' FROM PUBLIC, anon';
    EXECUTE 'GRANT EXECUTE ON FUNCTION ' || r.f || ' TO authenticated, service_role';
  END LOOP;
END
$do$;

-- So has it to see the schema of pgvector.
DO $do$ BEGIN
  EXECUTE (SELECT format('GRANT USAGE ON SCHEMA %I TO authenticated, service_role, authenticator', n.nspname)
    FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector');
END $do$;
