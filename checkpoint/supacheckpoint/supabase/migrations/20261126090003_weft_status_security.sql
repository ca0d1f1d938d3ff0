-- Access to the statuses of threads: a user sees those of the threads whose tenant the user is, and the
-- service role sees all. The migration can be applied again.
ALTER TABLE weft.cp_open ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
DROP POLICY IF EXISTS own ON weft.cp_open;
CREATE POLICY own ON weft.cp_open TO authenticated
  USING (tenant = (SELECT auth.uid())::text)
  WITH CHECK (tenant = (SELECT auth.uid())::text
    AND EXISTS (SELECT FROM weft.cp_thread t WHERE t.key = thread AND t.tenant = (SELECT auth.uid())::text));

REVOKE ALL ON weft.cp_open FROM PUBLIC, anon, authenticated, service_role;
GRANT SELECT, INSERT, UPDATE, DELETE ON weft.cp_open TO authenticated, service_role;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA weft FROM PUBLIC, anon;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA weft TO authenticated, service_role;

INSERT INTO weft.cp_project (migration) VALUES ('20261126090003_weft_status_security') ON CONFLICT DO NOTHING;
