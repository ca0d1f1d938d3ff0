-- Who may see documents, and change them: a user those of the user, the service role all, and nobody else
-- any. Sources and chunks can be read by who can read their shelf, so a project that shares documents
-- among users says so in one policy, such as
--   CREATE POLICY shared ON weft.mem_shelf FOR SELECT TO authenticated USING (user_id = '' AND tenant = …);
-- Every statement can be run again.
DO $do$
DECLARE
  mine constant text := 'user_id = (SELECT auth.uid())::text';
  its constant text := 'shelf = ANY (ARRAY(SELECT s.key FROM weft.mem_shelf s WHERE s.' || mine || '))';
  seen constant text := 'shelf = ANY (ARRAY(SELECT s.key FROM weft.mem_shelf s))';
  r record;
BEGIN
  FOR r IN SELECT * FROM (VALUES ('mem_shelf', mine, mine), ('mem_source', seen, its), ('mem_chunk', seen, its)) AS v (name, sees, writes) LOOP
    IF NOT EXISTS (SELECT FROM pg_class WHERE oid = ('weft.' || r.name)::regclass AND relrowsecurity AND relforcerowsecurity) THEN
      EXECUTE 'ALTER TABLE weft.' || r.name || ' ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY';
    END IF;
    CONTINUE WHEN EXISTS (SELECT FROM pg_policy WHERE polrelid = ('weft.' || r.name)::regclass AND polname = 'own_read');
    EXECUTE 'CREATE POLICY own_read ON weft.' || r.name || ' FOR SELECT TO authenticated USING (' || r.sees || ')';
    EXECUTE 'CREATE POLICY own_insert ON weft.' || r.name || ' FOR INSERT TO authenticated WITH CHECK (' || r.writes || ')';
    EXECUTE 'CREATE POLICY own_update ON weft.' || r.name || ' FOR UPDATE TO authenticated USING (' || r.writes || ') WITH CHECK (' || r.writes || ')';
    EXECUTE 'CREATE POLICY own_delete ON weft.' || r.name || ' FOR DELETE TO authenticated USING (' || r.writes || ')';
  END LOOP;
  FOR r IN SELECT p.oid::regprocedure AS f FROM pg_proc p WHERE p.pronamespace = 'weft'::regnamespace AND p.proname IN ('mem_put', 'mem_open_shelf', 'mem_swap', 'mem_remove') LOOP
    EXECUTE 'REVOKE ALL ON FUNCTION ' || r.f || ' FROM PUBLIC, anon';
    EXECUTE 'GRANT EXECUTE ON FUNCTION ' || r.f || ' TO authenticated, service_role';
  END LOOP;
END
$do$;

REVOKE ALL ON weft.mem_shelf, weft.mem_source, weft.mem_chunk FROM PUBLIC, anon, authenticated, service_role;
GRANT SELECT, INSERT, UPDATE, DELETE ON weft.mem_shelf, weft.mem_source, weft.mem_chunk TO authenticated, service_role;
