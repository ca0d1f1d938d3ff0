-- Turns that wait to be learned are the user's whose facts they will be. Who learns for everybody has the
-- service role. Every statement can be run again.
DO $do$
DECLARE
  its constant text := 'scope = ANY (ARRAY(SELECT s.key FROM weft.mem_scope s WHERE s.user_id = (SELECT auth.uid())::text))';
  r record;
BEGIN
  IF NOT EXISTS (SELECT FROM pg_class WHERE oid = 'weft.mem_turn'::regclass AND relrowsecurity AND relforcerowsecurity) THEN
    ALTER TABLE weft.mem_turn ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
  END IF;
  IF NOT EXISTS (SELECT FROM pg_policy WHERE polrelid = 'weft.mem_turn'::regclass) THEN
    EXECUTE 'CREATE POLICY own_read ON weft.mem_turn FOR SELECT TO authenticated USING (' || its || ')';
    EXECUTE 'CREATE POLICY own_insert ON weft.mem_turn FOR INSERT TO authenticated WITH CHECK (' || its || ')';
    EXECUTE 'CREATE POLICY own_update ON weft.mem_turn FOR UPDATE TO authenticated USING (' || its || ') WITH CHECK (' || its || ')';
    EXECUTE 'CREATE POLICY own_delete ON weft.mem_turn FOR DELETE TO authenticated USING (' || its || ')';
  END IF;
  FOR r IN SELECT p.oid::regprocedure AS f FROM pg_proc p WHERE p.pronamespace = 'weft'::regnamespace AND p.proname IN ('mem_enqueue', 'mem_finish') LOOP
    EXECUTE 'REVOKE ALL ON FUNCTION ' || r.f || ' FROM PUBLIC, anon';
    EXECUTE 'GRANT EXECUTE ON FUNCTION ' || r.f || ' TO authenticated, service_role';
  END LOOP;
END
$do$;

REVOKE ALL ON weft.mem_turn FROM PUBLIC, anon, authenticated, service_role;
GRANT SELECT, INSERT, UPDATE, DELETE ON weft.mem_turn TO authenticated, service_role;
