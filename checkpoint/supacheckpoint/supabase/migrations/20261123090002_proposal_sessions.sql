-- Thread ids of proposal_sessions are unique per user. Earlier, they were unique in the
-- table, so a refused INSERT told a user that another user has a thread with this id.
-- Users do not set the column id: a user could take the numbers of later rows.
-- The statement can run again. It changes only tables with the policies of this package.
-- pg_get_expr locks the tables that a policy reads. CASE keeps it from the policies of other
-- tables: waiting for a lock there could be a deadlock.

DO $do$
DECLARE
  r record;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('weft supabase', 0)); -- Concurrent grants on one table fail.
  FOR r IN SELECT c.oid, c.oid::regclass AS name FROM pg_class c WHERE c.oid IN ('public.proposal_checkpoints'::regclass, 'public.proposal_sessions'::regclass)
    AND EXISTS (SELECT FROM pg_policy p
      WHERE CASE WHEN p.polrelid = c.oid THEN pg_get_expr(p.polwithcheck, p.polrelid) LIKE '%proposals%' END) LOOP
    IF has_column_privilege('authenticated', r.oid, 'id', 'INSERT') THEN
      EXECUTE format('REVOKE INSERT, UPDATE ON %s FROM authenticated', r.name);
      EXECUTE format('GRANT INSERT (%1$s), UPDATE (%1$s) ON %2$s TO authenticated', (SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum)
        FROM pg_attribute a WHERE a.attrelid = r.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attname <> 'id'), r.name);
    END IF;
    CONTINUE WHEN r.oid <> 'public.proposal_sessions'::regclass;
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conrelid = r.oid AND contype = 'u' AND pg_get_constraintdef(oid) = 'UNIQUE (thread_id, user_id)') THEN
      ALTER TABLE public.proposal_sessions ADD UNIQUE (thread_id, user_id);
    END IF;
  END LOOP;
  FOR r IN SELECT c.conname FROM pg_constraint c WHERE c.conrelid = 'public.proposal_sessions'::regclass AND c.contype = 'u'
    AND pg_get_constraintdef(c.oid) = 'UNIQUE (thread_id)'
    AND EXISTS (SELECT FROM pg_policy p
      WHERE CASE WHEN p.polrelid = c.conrelid THEN pg_get_expr(p.polwithcheck, p.polrelid) LIKE '%proposals%' END) LOOP
    EXECUTE format('ALTER TABLE public.proposal_sessions DROP CONSTRAINT %I', r.conname);
  END LOOP;
END
$do$;
