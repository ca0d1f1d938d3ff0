-- One JSON document for each thread, for programs that keep their state so. It has no
-- user, so it is the service's alone. Every statement can be run again, and a table
-- that has policies of its own stays as it is.

CREATE TABLE IF NOT EXISTS public.agent_checkpoints (
  id              uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  thread_id       text NOT NULL UNIQUE,
  checkpoint_data jsonb NOT NULL,
  created_at      timestamptz NOT NULL DEFAULT now(),
  updated_at      timestamptz NOT NULL DEFAULT now()
);

DO $do$ BEGIN
  -- The index of the unique column serves as one on thread_id, but this is its name.
  IF to_regclass('public.idx_agent_checkpoints_thread_id') IS NULL THEN
    CREATE INDEX idx_agent_checkpoints_thread_id ON public.agent_checkpoints (thread_id);
  END IF;
  IF EXISTS (SELECT FROM pg_policy WHERE polrelid = 'public.agent_checkpoints'::regclass) THEN
    RETURN;
  END IF;
  ALTER TABLE public.agent_checkpoints ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
  CREATE POLICY "Only the service can access checkpoints" ON public.agent_checkpoints
    TO service_role USING (true) WITH CHECK (true);
  REVOKE ALL ON public.agent_checkpoints FROM PUBLIC, anon, authenticated;
  GRANT SELECT, INSERT, UPDATE, DELETE ON public.agent_checkpoints TO service_role;
END $do$;
