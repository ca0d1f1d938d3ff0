-- The migration 001_checkpoint of checkpoint/pgcheckpoint.

DO $once$
DECLARE
  place constant text := 'weft';
  latest int := 0;
  noted text;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('weft checkpoint ' || place, 0));
  IF EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = place AND c.relname = 'cp_migration') THEN
    SELECT coalesce(max(version), 0), max(checksum) FILTER (WHERE version = 1) INTO latest, noted FROM weft.cp_migration;
  END IF;
  IF noted = '1e98d7e4c75c5cc37c9c1e6c67fbe547ce0d091acdf98168160afe63d75c0998' THEN
    RAISE NOTICE 'migration 001_checkpoint was applied to schema % before, and is not applied again', place;
    RETURN;
  ELSIF noted IS NOT NULL THEN
    RAISE EXCEPTION 'schema % has another migration of the number of 001_checkpoint', place USING ERRCODE = 'object_not_in_prerequisite_state';
  ELSIF latest <> 1 - 1 THEN
    RAISE EXCEPTION 'schema % has version %, and migration 001_checkpoint makes version 1 of the one before', place, latest
      USING ERRCODE = 'object_not_in_prerequisite_state';
  END IF;
EXECUTE $script$
DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_namespace WHERE nspname = 'weft') THEN CREATE SCHEMA "weft"; END IF;
END $$;

CREATE TABLE IF NOT EXISTS weft.cp_migration (
  version  int PRIMARY KEY,
  name     text NOT NULL,
  checksum text NOT NULL,
  applied  timestamptz NOT NULL DEFAULT now()
);

-- The checkpoints of a thread are numbered in the order in which they were
-- accepted. The row of the thread is locked while one is, and gives the number.

CREATE TABLE weft.cp_thread (
  key     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant  text COLLATE "C" NOT NULL,
  id      text COLLATE "C" NOT NULL,
  created timestamptz NOT NULL DEFAULT clock_timestamp(),
  seq     int NOT NULL DEFAULT 0,   -- the last number that was given
  steps   int NOT NULL DEFAULT 0,   -- how many checkpoints there are
  epoch   int NOT NULL DEFAULT 0,   -- counts the leases
  owner   uuid,                     -- of the lease; null for none
  until   timestamptz,              -- when the lease runs out
  -- What is known of the newest checkpoint of the root namespace, so that the next
  -- one need not look for it. Head is null when nothing is.
  head    uuid,
  digest  bytea,                    -- of its origin
  highest uuid,                     -- no id of the thread is above this one
  at      timestamptz,              -- no checkpoint of the thread is younger
  newest  int NOT NULL DEFAULT 0,   -- the number of the head
  parent  int NOT NULL DEFAULT 0,   -- and of the one before
  branch  int NOT NULL DEFAULT 0,
  root    int NOT NULL DEFAULT 0,
  origin  int NOT NULL DEFAULT 0,
  UNIQUE (tenant, id)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01);

-- The empty namespace has no row: its key is 0. Keys of namespaces and origins are
-- the numbers of the checkpoints that came with them.
CREATE TABLE weft.cp_space (
  thread bigint NOT NULL,
  key    int NOT NULL,
  name   text COLLATE "C" NOT NULL,
  PRIMARY KEY (thread, key),
  UNIQUE (thread, name)
);

-- What the checkpoints of one run have in common.
CREATE TABLE weft.cp_origin (
  thread  bigint NOT NULL,
  key     int NOT NULL,
  digest  bytea NOT NULL,           -- of run, version and metadata
  run     text NOT NULL,
  version text NOT NULL,
  meta    jsonb,                    -- null when there is none
  PRIMARY KEY (thread, key),
  UNIQUE (thread, digest)
);

CREATE INDEX cp_origin_meta ON weft.cp_origin USING gin (meta jsonb_path_ops);

-- A branch has the number of its first checkpoint. Except for that one, each
-- follows the one before it in the branch. The lineage of a checkpoint starts no
-- earlier than at its root. The large columns come last and are read by those who
-- need them.
CREATE TABLE weft.cp_step (
  thread   bigint NOT NULL,
  time     timestamptz NOT NULL,
  step     bigint NOT NULL,
  seq      int NOT NULL,
  parent   int NOT NULL,            -- 0 for none
  branch   int NOT NULL,
  root     int NOT NULL,
  space    int NOT NULL,
  origin   int NOT NULL,
  epoch    int NOT NULL,            -- of the lease under which it was written
  whole    boolean NOT NULL,        -- the snapshot or the base starts from nothing
  id       uuid NOT NULL,
  source   text NOT NULL,
  name     text,                    -- the id, if that is no UUID
  control  bytea NOT NULL,          -- behind a checksum
  changes  bytea NOT NULL,
  snapshot bytea,
  base     bytea,                   -- what removed ancestors leave to the lineage
  PRIMARY KEY (thread, seq),
  UNIQUE (id, thread)               -- ids are born almost in order: it grows at its end
);

CREATE INDEX cp_step_space ON weft.cp_step (thread, space, seq) WHERE space <> 0;

CREATE TABLE weft.cp_write (
  thread bigint NOT NULL,
  seq    int NOT NULL,
  task   text COLLATE "C" NOT NULL,
  number bigint NOT NULL,
  data   bytea NOT NULL,
  PRIMARY KEY (thread, seq, task, number)
) WITH (autovacuum_vacuum_scale_factor = 0.01);

CREATE TABLE weft.cp_tag (
  thread bigint NOT NULL,
  name   text COLLATE "C" NOT NULL,
  seq    int NOT NULL,
  PRIMARY KEY (thread, name)
);

CREATE INDEX cp_tag_step ON weft.cp_tag (thread, seq);

-- Values come compressed.
ALTER TABLE weft.cp_step ALTER control SET STORAGE EXTERNAL, ALTER changes SET STORAGE EXTERNAL,
  ALTER snapshot SET STORAGE EXTERNAL, ALTER base SET STORAGE EXTERNAL;
ALTER TABLE weft.cp_write ALTER data SET STORAGE EXTERNAL;

INSERT INTO weft.cp_migration (version, name, checksum) VALUES (1, '001_checkpoint', '1e98d7e4c75c5cc37c9c1e6c67fbe547ce0d091acdf98168160afe63d75c0998');
$script$;
END $once$;
