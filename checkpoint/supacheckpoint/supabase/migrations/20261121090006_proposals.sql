-- One JSON document for each thread of a user about a proposal, and the sessions of
-- such threads. Every statement can be run again.

CREATE TABLE IF NOT EXISTS public.proposals (
  id      uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  user_id uuid NOT NULL REFERENCES auth.users (id)
);

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
  mine constant text := '(SELECT auth.uid()) = user_id';
  r record;
BEGIN
  FOR r IN SELECT * FROM (VALUES ('proposals', 'user_id'),
    ('proposal_checkpoints', 'thread_id'), ('proposal_checkpoints', 'user_id'), ('proposal_checkpoints', 'proposal_id'),
    ('proposal_sessions', 'thread_id'), ('proposal_sessions', 'user_id'), ('proposal_sessions', 'proposal_id'),
    ('proposal_sessions', 'status')) AS v (name, indexed)
  LOOP
    CONTINUE WHEN to_regclass('public.idx_' || r.name || '_' || r.indexed) IS NOT NULL;
    EXECUTE 'CREATE INDEX idx_' || r.name || '_' || r.indexed || ' ON public.' || r.name || ' (' || r.indexed || ')';
  END LOOP;
  FOR r IN SELECT * FROM (VALUES
    ('proposals', 'proposals'), ('proposal_checkpoints', 'checkpoints'), ('proposal_sessions', 'sessions')) AS v (name, called)
  LOOP
    IF NOT EXISTS (SELECT FROM pg_class WHERE oid = ('public.' || r.name)::regclass AND relrowsecurity AND relforcerowsecurity) THEN
      EXECUTE 'ALTER TABLE public.' || r.name || ' ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY';
    END IF;
    -- A project's own policies stay as they are.
    CONTINUE WHEN EXISTS (SELECT FROM pg_policy WHERE polrelid = ('public.' || r.name)::regclass);
    EXECUTE format('CREATE POLICY %I ON public.%I TO authenticated USING (%s) WITH CHECK (%3$s)',
      'Users can only access their own ' || r.called, r.name, mine);
  END LOOP;
END
$do$;

REVOKE ALL ON public.proposals, public.proposal_checkpoints, public.proposal_sessions FROM PUBLIC, anon;
GRANT SELECT, INSERT, UPDATE, DELETE ON public.proposals, public.proposal_checkpoints, public.proposal_sessions
  TO authenticated, service_role;
GRANT USAGE ON SEQUENCE public.proposal_checkpoints_id_seq, public.proposal_sessions_id_seq TO authenticated, service_role;
