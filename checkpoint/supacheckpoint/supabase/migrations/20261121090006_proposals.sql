-- One JSON document for each thread of a user about a proposal, and the sessions of
-- such threads. Every statement can be run again, and a table that has policies of its
-- own stays as it is.

-- Proposals are the project's own. Where it has none yet, this is the least that the
-- other tables ask for.
DO $do$ BEGIN
  IF to_regclass('public.proposals') IS NOT NULL THEN
    RETURN;
  END IF;
  CREATE TABLE public.proposals (
    id      uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL REFERENCES auth.users (id)
  );
  CREATE INDEX idx_proposals_user_id ON public.proposals (user_id);
  ALTER TABLE public.proposals ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
  CREATE POLICY "Users can only access their own proposals" ON public.proposals TO authenticated
    USING ((SELECT auth.uid()) = user_id) WITH CHECK ((SELECT auth.uid()) = user_id);
  REVOKE ALL ON public.proposals FROM PUBLIC, anon, authenticated;
  GRANT SELECT, INSERT, UPDATE, DELETE ON public.proposals TO authenticated, service_role;
END $do$;

CREATE TABLE IF NOT EXISTS public.proposal_checkpoints (
  id              bigserial PRIMARY KEY,
  thread_id       text NOT NULL,
  user_id         uuid NOT NULL REFERENCES auth.users (id),
  proposal_id     uuid NOT NULL REFERENCES public.proposals (id),
  checkpoint_data jsonb NOT NULL,
  metadata        jsonb DEFAULT '{}'::jsonb,
  created_at      timestamptz NOT NULL DEFAULT now(),
  updated_at      timestamptz NOT NULL DEFAULT now(),
  UNIQUE (thread_id, user_id)
);

CREATE TABLE IF NOT EXISTS public.proposal_sessions (
  id            bigserial PRIMARY KEY,
  thread_id     text NOT NULL UNIQUE,
  user_id       uuid NOT NULL REFERENCES auth.users (id),
  proposal_id   uuid NOT NULL REFERENCES public.proposals (id),
  status        text NOT NULL DEFAULT 'active',
  start_time    timestamptz NOT NULL DEFAULT now(),
  last_activity timestamptz NOT NULL DEFAULT now(),
  metadata      jsonb DEFAULT '{}'::jsonb
);

DO $do$
DECLARE
  r record;
BEGIN
  FOR r IN SELECT * FROM (VALUES
    ('proposal_checkpoints', 'thread_id'), ('proposal_checkpoints', 'user_id'), ('proposal_checkpoints', 'proposal_id'),
    ('proposal_sessions', 'thread_id'), ('proposal_sessions', 'user_id'), ('proposal_sessions', 'proposal_id'),
    ('proposal_sessions', 'status')) AS v (name, indexed)
  LOOP
    CONTINUE WHEN to_regclass('public.idx_' || r.name || '_' || r.indexed) IS NOT NULL;
    EXECUTE 'CREATE INDEX idx_' || r.name || '_' || r.indexed || ' ON public.' || r.name || ' (' || r.indexed || ')';
  END LOOP;
END
$do$;

-- What somebody writes is theirs, and about a proposal that they can see. Each policy
-- asks for the user once a statement, not once a row.
DO $do$
DECLARE
  mine constant text := '(SELECT auth.uid()) = user_id';
  sound constant text := mine || ' AND EXISTS (SELECT FROM public.proposals p WHERE p.id = %I.proposal_id)';
  may constant text := 'CREATE POLICY %I ON public.%I FOR %s TO authenticated';
  own constant text := 'Users can %s their own checkpoints';
BEGIN
  IF NOT EXISTS (SELECT FROM pg_policy WHERE polrelid = 'public.proposal_checkpoints'::regclass) THEN
    ALTER TABLE public.proposal_checkpoints ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
    EXECUTE format(may || ' USING (' || mine || ')', format(own, 'only access'), 'proposal_checkpoints', 'SELECT');
    EXECUTE format(may || ' WITH CHECK (' || sound || ')',
      format(own, 'insert'), 'proposal_checkpoints', 'INSERT', 'proposal_checkpoints');
    EXECUTE format(may || ' USING (' || mine || ') WITH CHECK (' || sound || ')',
      format(own, 'update'), 'proposal_checkpoints', 'UPDATE', 'proposal_checkpoints');
    EXECUTE format(may || ' USING (' || mine || ')', format(own, 'delete'), 'proposal_checkpoints', 'DELETE');
    REVOKE ALL ON public.proposal_checkpoints FROM PUBLIC, anon, authenticated;
    REVOKE ALL ON SEQUENCE public.proposal_checkpoints_id_seq FROM PUBLIC, anon, authenticated;
    GRANT SELECT, INSERT, UPDATE, DELETE ON public.proposal_checkpoints TO authenticated, service_role;
    GRANT USAGE ON SEQUENCE public.proposal_checkpoints_id_seq TO authenticated, service_role;
  END IF;
  IF NOT EXISTS (SELECT FROM pg_policy WHERE polrelid = 'public.proposal_sessions'::regclass) THEN
    ALTER TABLE public.proposal_sessions ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
    EXECUTE format(may || ' USING (' || mine || ') WITH CHECK (' || sound || ')',
      'Users can only access their own sessions', 'proposal_sessions', 'ALL', 'proposal_sessions');
    REVOKE ALL ON public.proposal_sessions FROM PUBLIC, anon, authenticated;
    REVOKE ALL ON SEQUENCE public.proposal_sessions_id_seq FROM PUBLIC, anon, authenticated;
    GRANT SELECT, INSERT, UPDATE, DELETE ON public.proposal_sessions TO authenticated, service_role;
    GRANT USAGE ON SEQUENCE public.proposal_sessions_id_seq TO authenticated, service_role;
  END IF;
END
$do$;
