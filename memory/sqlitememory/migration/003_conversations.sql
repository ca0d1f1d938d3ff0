-- The newest time, and the newest version, that were given: both ascend.
CREATE TABLE mem_clock (
  one     INTEGER PRIMARY KEY CHECK (one = 1),
  at      INTEGER NOT NULL,
  version INTEGER NOT NULL
);
INSERT INTO mem_clock VALUES (1, 0, 0);

-- As mem_scope, of sessions.
CREATE TABLE mem_talk_scope (
  key       INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant    TEXT NOT NULL,
  workspace TEXT NOT NULL,
  user      TEXT NOT NULL,
  agent     TEXT NOT NULL,
  secret    BLOB NOT NULL,
  UNIQUE (tenant, workspace, user, agent)
);

CREATE TABLE mem_session (
  key        INTEGER PRIMARY KEY AUTOINCREMENT,
  scope      INTEGER NOT NULL,
  id         TEXT NOT NULL,
  title      TEXT NOT NULL,
  messages   INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  version    INTEGER NOT NULL,
  metadata   TEXT
);

CREATE UNIQUE INDEX mem_session_id ON mem_session (scope, id);
CREATE INDEX mem_session_new ON mem_session (scope, updated_at, id);

CREATE TABLE mem_message (
  key      INTEGER PRIMARY KEY,
  session  INTEGER NOT NULL,
  position INTEGER NOT NULL, -- from 1, without gaps
  id       TEXT NOT NULL,
  digest   BLOB NOT NULL,    -- equal for messages that say the same
  role     TEXT NOT NULL,
  at       INTEGER NOT NULL,
  words    INTEGER NOT NULL,
  checksum INTEGER NOT NULL, -- of the id and the columns below
  text     TEXT NOT NULL,
  data     TEXT NOT NULL,
  terms    BLOB NOT NULL
);

-- What comes after the position lets messages be counted without their rows.
CREATE INDEX mem_message_place ON mem_message (session, position, role, at, words);
CREATE UNIQUE INDEX mem_message_id ON mem_message (session, id);
CREATE INDEX mem_message_said ON mem_message (session, digest);

CREATE VIRTUAL TABLE mem_message_word USING fts5 (terms, content = '', tokenize = 'ascii');
