CREATE POLICY own ON weft.cp_thread TO authenticated
  USING (tenant = (SELECT auth.uid())::text) WITH CHECK (tenant = (SELECT auth.uid())::text);
