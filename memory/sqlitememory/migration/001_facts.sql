-- Times are microseconds since 1970. Ids are the 16 bytes of a UUID.

CREATE TABLE mem_scope (
  key       INTEGER PRIMARY KEY AUTOINCREMENT, -- never given twice
  tenant    TEXT NOT NULL,
  workspace TEXT NOT NULL,
  user      TEXT NOT NULL,
  agent     TEXT NOT NULL,
  secret    BLOB NOT NULL, -- with which its words are indexed
  UNIQUE (tenant, workspace, user, agent)
);

-- The large columns come last, so that the others are read without them.
CREATE TABLE mem_fact (
  key           INTEGER PRIMARY KEY,
  scope         INTEGER NOT NULL,
  id            BLOB NOT NULL,
  kind          TEXT NOT NULL,
  digest        BLOB NOT NULL,     -- equal for facts that say the same
  trust         INTEGER NOT NULL,
  importance    REAL NOT NULL,
  valid_from    INTEGER NOT NULL,
  valid_to      INTEGER,
  superseded_by TEXT NOT NULL,
  expires_at    INTEGER,
  created_at    INTEGER NOT NULL,
  updated_at    INTEGER NOT NULL,
  version       INTEGER NOT NULL,
  conversation  TEXT NOT NULL,
  turn          INTEGER NOT NULL,
  words         INTEGER NOT NULL,  -- how many terms there are
  model         TEXT NOT NULL,
  dimension     INTEGER NOT NULL,  -- 0 without a vector
  norm          REAL NOT NULL,     -- the length of the vector
  checksum      INTEGER NOT NULL,  -- of the columns below
  metadata      TEXT,
  content       TEXT NOT NULL,
  terms         BLOB NOT NULL,     -- each behind its length
  embedding     BLOB               -- numbers of 32 bits, the lowest byte first
);

CREATE UNIQUE INDEX mem_fact_id ON mem_fact (scope, id);

-- One valid fact says it. What is not trusted keeps nobody from saying so.
CREATE UNIQUE INDEX mem_fact_said ON mem_fact (scope, kind, digest, trust >= 2) WHERE valid_to IS NULL;

-- Newest first; what comes after the id lets a scope be counted without its rows.
CREATE INDEX mem_fact_new ON mem_fact (scope, created_at, id, trust, valid_from, valid_to, expires_at, words);

CREATE INDEX mem_fact_expires ON mem_fact (expires_at) WHERE expires_at IS NOT NULL;

-- The words of facts, by the key of the fact: digests of them with the secret of the
-- scope. So each is one token whatever it is made of, scopes have no word in common, and
-- what the index still holds of a scope that was forgotten says nothing to anybody.
CREATE VIRTUAL TABLE mem_word USING fts5 (terms, content = '', tokenize = 'ascii');

CREATE TABLE mem_event (
  key    INTEGER PRIMARY KEY,
  scope  INTEGER NOT NULL,
  fact   BLOB NOT NULL,
  kind   TEXT NOT NULL,
  was    TEXT NOT NULL,
  became TEXT NOT NULL,
  actor  TEXT NOT NULL,
  at     INTEGER NOT NULL
);

CREATE INDEX mem_event_fact ON mem_event (scope, fact);

CREATE TABLE mem_job (
  scope INTEGER NOT NULL,
  job   TEXT NOT NULL,
  at    INTEGER NOT NULL,
  PRIMARY KEY (scope, job)
) WITHOUT ROWID;

CREATE INDEX mem_job_at ON mem_job (at);

-- When a scope was forgotten. It is named by a digest, so that its name is forgotten too.
CREATE TABLE mem_forgotten (
  scope BLOB PRIMARY KEY,
  at    INTEGER NOT NULL
) WITHOUT ROWID;

CREATE INDEX mem_forgotten_at ON mem_forgotten (at);
