-- As mem_scope, of values.
CREATE TABLE mem_value_scope (
  key       INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant    TEXT NOT NULL,
  workspace TEXT NOT NULL,
  user      TEXT NOT NULL,
  agent     TEXT NOT NULL,
  secret    BLOB NOT NULL,
  UNIQUE (tenant, workspace, user, agent)
);

-- The address is the labels of the namespace, each with a zero byte behind it, another zero byte, and
-- the key: so the order of its bytes is that of namespaces, label by label, and then of keys.
CREATE TABLE mem_value (
  key        INTEGER PRIMARY KEY,
  scope      INTEGER NOT NULL,
  address    BLOB NOT NULL,
  version    INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  expires_at INTEGER,
  refresh    INTEGER NOT NULL, -- how long reading makes it live on; 0 for not
  words      INTEGER NOT NULL,
  model      TEXT NOT NULL,
  dimension  INTEGER NOT NULL,
  norm       REAL NOT NULL,
  checksum   INTEGER NOT NULL, -- of the address and the columns below
  value      TEXT NOT NULL,
  terms      BLOB NOT NULL,
  embedding  BLOB
);

-- What comes last lets values be counted, and namespaces be listed, without the rows.
CREATE INDEX mem_value_address ON mem_value (scope, address, expires_at, words);
CREATE INDEX mem_value_new ON mem_value (scope, updated_at, address);
CREATE INDEX mem_value_expires ON mem_value (expires_at) WHERE expires_at IS NOT NULL;

CREATE VIRTUAL TABLE mem_value_word USING fts5 (terms, content = '', tokenize = 'ascii');
