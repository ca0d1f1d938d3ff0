-- Facts, and where they are kept. The type of vectors may live in any schema: it is on
-- the search path of this transaction, and of the functions, and needs to be on no other.
DO $do$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'vector') THEN
    PERFORM pg_advisory_xact_lock(hashtextextended('weft extension vector', 0));
    CREATE SCHEMA IF NOT EXISTS extensions;
    CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA extensions;
  END IF;
END $do$;

SELECT set_config('search_path', (SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
  WHERE e.extname = 'vector'), true);

-- mem_digest stands for texts without naming them: of each the length in bytes, a colon and the text.
CREATE OR REPLACE FUNCTION weft.mem_digest(VARIADIC p_parts text[]) RETURNS bytea LANGUAGE sql STABLE SET search_path = '' AS $fn$
  SELECT sha256(convert_to(coalesce(string_agg(octet_length(part) || ':' || part, '' ORDER BY nr), ''), 'UTF8'))
  FROM unnest(p_parts) WITH ORDINALITY AS p (part, nr)
$fn$;

-- A scope has a row as soon as something is stored in it. Who changes its facts locks it.
CREATE TABLE weft.mem_scope (
  key       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  digest    bytea NOT NULL UNIQUE, -- of the four names
  tenant    text COLLATE "C" NOT NULL,
  workspace text COLLATE "C" NOT NULL,
  user_id   text COLLATE "C" NOT NULL,
  agent     text COLLATE "C" NOT NULL,
  newest    timestamptz NOT NULL,  -- when the last change was: the next is later
  -- Nobody may take the place of a scope that is not theirs.
  CHECK (digest = weft.mem_digest(tenant, workspace, user_id, agent))
);
CREATE INDEX mem_scope_tenant ON weft.mem_scope (tenant, user_id);
CREATE INDEX mem_scope_user ON weft.mem_scope (user_id);

CREATE TABLE weft.mem_fact (
  key           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  scope         bigint NOT NULL,
  turn          bigint NOT NULL,
  version       bigint NOT NULL,
  space         bigint,              -- stands for model and dimension; null without a vector
  importance    float8 NOT NULL,
  valid_from    timestamptz NOT NULL,
  valid_to      timestamptz,
  expires_at    timestamptz,
  created_at    timestamptz NOT NULL,
  updated_at    timestamptz NOT NULL,
  id            uuid NOT NULL,
  trust         smallint NOT NULL CHECK (trust BETWEEN 0 AND 2),
  word_count    int NOT NULL,        -- how many terms there are
  kind          text COLLATE "C" NOT NULL
    CHECK (kind IN ('preference', 'fact', 'context', 'relationship', 'episode', 'procedural', 'profile')),
  said          bytea NOT NULL,      -- equal for facts that say the same
  superseded_by text NOT NULL,
  conversation  text COLLATE "C" NOT NULL,
  model         text COLLATE "C" NOT NULL,
  content       text NOT NULL CHECK (content ~ '\S'),
  metadata      jsonb,               -- what conditions are asked of
  raw           bytea,               -- the metadata, byte by byte
  words         bigint[] NOT NULL,   -- the different terms, as numbers
  terms         text[] NOT NULL,
  embedding     vector
);

CREATE UNIQUE INDEX mem_fact_id ON weft.mem_fact (scope, id);

-- One valid fact says it. What is not trusted keeps nobody from saying so.
CREATE UNIQUE INDEX mem_fact_said ON weft.mem_fact (scope, kind, said, (trust >= 2)) WHERE valid_to IS NULL;

-- Newest first; the other columns let a scope be counted without its rows.
CREATE INDEX mem_fact_new ON weft.mem_fact (scope, created_at DESC, id DESC)
  INCLUDE (kind, trust, valid_from, valid_to, expires_at, word_count);

CREATE INDEX mem_fact_expires ON weft.mem_fact (expires_at, scope) WHERE expires_at IS NOT NULL;
CREATE INDEX mem_fact_words ON weft.mem_fact USING gin (words);

-- What was done to facts.
CREATE TABLE weft.mem_event (
  key    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  scope  bigint NOT NULL,
  fact   uuid NOT NULL,
  at     timestamptz NOT NULL,
  kind   text NOT NULL,
  was    text NOT NULL,
  became text NOT NULL,
  actor  text NOT NULL
);
CREATE INDEX mem_event_fact ON weft.mem_event (scope, fact, key);

-- Jobs whose changes were applied.
CREATE TABLE weft.mem_job (
  scope bigint NOT NULL,
  at    timestamptz NOT NULL,
  job   text COLLATE "C" NOT NULL,
  PRIMARY KEY (scope, job)
);
CREATE INDEX mem_job_at ON weft.mem_job (scope, at);

-- When a scope was forgotten. It is named by a digest, and so is its user, so that their
-- names are forgotten too.
CREATE TABLE weft.mem_forgotten (
  scope bytea NOT NULL,
  owner bytea NOT NULL,
  at    timestamptz NOT NULL,
  PRIMARY KEY (scope, owner)
);

-- What is forgotten is not to stay behind in what the planner knows of columns.
ALTER TABLE weft.mem_fact ALTER content SET STATISTICS 0, ALTER raw SET STATISTICS 0, ALTER metadata SET STATISTICS 0,
  ALTER terms SET STATISTICS 0, ALTER conversation SET STATISTICS 0, ALTER embedding SET STATISTICS 0;
ALTER TABLE weft.mem_event ALTER was SET STATISTICS 0, ALTER became SET STATISTICS 0, ALTER actor SET STATISTICS 0;
ALTER TABLE weft.mem_job ALTER job SET STATISTICS 0;
