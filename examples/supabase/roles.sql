-- The roles of a Supabase project. They belong to the whole server, so that programs which
-- make them take turns.
SELECT pg_advisory_xact_lock(hashtextextended('weft supatest', 0));
DO $$
DECLARE
  r record;
BEGIN
  FOR r IN SELECT * FROM (VALUES ('anon', ''), ('authenticated', ''), ('service_role', 'BYPASSRLS'), ('authenticator', 'LOGIN'))
    AS v (name, attributes)
  LOOP
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = r.name) THEN
      EXECUTE 'CREATE ROLE ' || r.name || ' NOINHERIT ' || r.attributes;
    END IF;
  END LOOP;
END $$;
GRANT anon, authenticated, service_role TO authenticator;
