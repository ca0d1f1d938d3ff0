-- As mem_scope, of sources.
CREATE TABLE mem_source_scope (
  key       INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant    TEXT NOT NULL,
  workspace TEXT NOT NULL,
  user      TEXT NOT NULL,
  agent     TEXT NOT NULL,
  secret    BLOB NOT NULL,
  UNIQUE (tenant, workspace, user, agent)
);

CREATE TABLE mem_source (
  key        INTEGER PRIMARY KEY AUTOINCREMENT,
  scope      INTEGER NOT NULL,
  id         BLOB NOT NULL,
  uri        TEXT NOT NULL,
  title      TEXT NOT NULL,
  version    TEXT NOT NULL,
  format     TEXT NOT NULL,
  trust      INTEGER NOT NULL,
  sha256     TEXT NOT NULL,
  size       INTEGER NOT NULL,
  chunks     INTEGER NOT NULL,
  recipe     TEXT NOT NULL,
  model      TEXT NOT NULL,
  revision   INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  checksum   INTEGER NOT NULL, -- of the id, the texts and the metadata
  metadata   TEXT
);

CREATE UNIQUE INDEX mem_source_uri ON mem_source (scope, uri);
CREATE UNIQUE INDEX mem_source_id ON mem_source (scope, id);

CREATE TABLE mem_chunk (
  key       INTEGER PRIMARY KEY,
  source    INTEGER NOT NULL,
  ordinal   INTEGER NOT NULL,
  id        BLOB NOT NULL,
  first     INTEGER NOT NULL, -- byte of the source, and the one behind the last
  behind    INTEGER NOT NULL,
  tokens    INTEGER NOT NULL,
  words     INTEGER NOT NULL,
  model     TEXT NOT NULL,
  dimension INTEGER NOT NULL,
  norm      REAL NOT NULL,
  checksum  INTEGER NOT NULL, -- of the id and the columns below
  headings  BLOB NOT NULL,    -- as terms
  content   TEXT NOT NULL,
  terms     BLOB NOT NULL,
  embedding BLOB
);

-- What comes last lets chunks be counted without their rows.
CREATE INDEX mem_chunk_place ON mem_chunk (source, ordinal, words);

CREATE VIRTUAL TABLE mem_chunk_word USING fts5 (terms, content = '', tokenize = 'ascii');
