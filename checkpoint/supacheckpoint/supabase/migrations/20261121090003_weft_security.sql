-- Who may see which checkpoints: a user those of threads whose tenant they are, the
-- service role all, and nobody else any. Every statement can be run again.

CREATE TABLE IF NOT EXISTS weft.cp_project (
  migration text PRIMARY KEY,
  applied   timestamptz NOT NULL DEFAULT now()
);

-- The policies ask for the user once a statement, not once a row.
DO $do$
DECLARE
  mine constant text := 'tenant = (SELECT auth.uid())::text';
  its constant text := 'EXISTS (SELECT FROM weft.cp_thread t WHERE t.key = thread AND t.' || mine || ')';
  r record;
BEGIN
  FOR r IN SELECT * FROM (VALUES
    ('cp_thread', mine), ('cp_space', its), ('cp_origin', its), ('cp_step', its), ('cp_write', its), ('cp_tag', its),
    ('cp_migration', NULL), ('cp_project', NULL)) AS v (name, rule)
  LOOP
    IF NOT EXISTS (SELECT FROM pg_class WHERE oid = ('weft.' || r.name)::regclass AND relrowsecurity AND relforcerowsecurity) THEN
      EXECUTE 'ALTER TABLE weft.' || r.name || ' ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY';
    END IF;
    CONTINUE WHEN EXISTS (SELECT FROM pg_policy WHERE polrelid = ('weft.' || r.name)::regclass);
    IF r.rule IS NULL THEN
      -- What has been applied is no secret, and is written by who applies it.
      EXECUTE 'CREATE POLICY all_read ON weft.' || r.name || ' FOR SELECT USING (true)';
      EXECUTE 'CREATE POLICY owner_writes ON weft.' || r.name || ' TO CURRENT_USER USING (true) WITH CHECK (true)';
    ELSE
      EXECUTE 'CREATE POLICY own ON weft.' || r.name || ' TO authenticated USING (' || r.rule || ') WITH CHECK (' || r.rule || ')';
    END IF;
  END LOOP;
END
$do$;

REVOKE ALL ON SCHEMA weft FROM PUBLIC, anon;
REVOKE ALL ON ALL TABLES IN SCHEMA weft FROM PUBLIC, anon, authenticated, service_role;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA weft FROM PUBLIC, anon;
-- Who logs in to take on these roles has to see the schema to prepare statements, and
-- may do nothing in it.
GRANT USAGE ON SCHEMA weft TO authenticated, service_role, authenticator;
GRANT SELECT, INSERT, UPDATE, DELETE ON weft.cp_thread, weft.cp_space, weft.cp_origin, weft.cp_step, weft.cp_write, weft.cp_tag
  TO authenticated, service_role;
GRANT SELECT ON weft.cp_migration, weft.cp_project TO authenticated, service_role;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA weft TO authenticated, service_role;

INSERT INTO weft.cp_project (migration) VALUES ('20261121090003_weft_security') ON CONFLICT DO NOTHING;
