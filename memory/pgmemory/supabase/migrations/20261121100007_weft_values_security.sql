-- Values are the user's whose scope they are in. The policies ask for the user, and for the user's scopes, once a
-- statement and not once a row. Every statement can be run again.
DO $do$
DECLARE
  mine constant text := 'user_id = (SELECT auth.uid())::text';
  its constant text := 'scope = ANY (ARRAY(SELECT s.key FROM weft.mem_value_scope s WHERE s.' || mine || '))';
  r record;
BEGIN
  FOR r IN SELECT * FROM (VALUES ('mem_value_scope', mine), ('mem_value', its)) AS v (name, own) LOOP
    IF NOT EXISTS (SELECT FROM pg_class WHERE oid = ('weft.' || r.name)::regclass AND relrowsecurity AND relforcerowsecurity) THEN
      EXECUTE 'ALTER TABLE weft.' || r.name || ' ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY';
    END IF;
    CONTINUE WHEN EXISTS (SELECT FROM pg_policy WHERE polrelid = ('weft.' || r.name)::regclass);
    EXECUTE 'CREATE POLICY own_read ON weft.' || r.name || ' FOR SELECT TO authenticated USING (' || r.own || ')';
    EXECUTE 'CREATE POLICY own_insert ON weft.' || r.name || ' FOR INSERT TO authenticated WITH CHECK (' || r.own || ')';
    EXECUTE 'CREATE POLICY own_update ON weft.' || r.name || ' FOR UPDATE TO authenticated USING (' || r.own || ') WITH CHECK (' || r.own || ')';
    EXECUTE 'CREATE POLICY own_delete ON weft.' || r.name || ' FOR DELETE TO authenticated USING (' || r.own || ')';
  END LOOP;
  FOR r IN SELECT p.oid::regprocedure AS f FROM pg_proc p WHERE p.pronamespace = 'weft'::regnamespace AND p.proname IN ('mem_put', 'mem_clear') LOOP
    EXECUTE 'REVOKE ALL ON FUNCTION ' || r.f || ' FROM PUBLIC, anon';
    EXECUTE 'GRANT EXECUTE ON FUNCTION ' || r.f || ' TO authenticated, service_role';
  END LOOP;
END
$do$;

REVOKE ALL ON weft.mem_value_scope, weft.mem_value FROM PUBLIC, anon, authenticated, service_role;
GRANT SELECT, INSERT, UPDATE, DELETE ON weft.mem_value_scope, weft.mem_value TO authenticated, service_role;
