CREATE TABLE run_record (
  key      INTEGER PRIMARY KEY,
  kind     TEXT NOT NULL,
  id       TEXT NOT NULL,
  parent   TEXT NOT NULL,
  owner    TEXT NOT NULL,
  graph    TEXT NOT NULL,
  name     TEXT NOT NULL,
  folded   TEXT NOT NULL,     -- the name in lower case
  status   TEXT NOT NULL,
  created  INTEGER NOT NULL,  -- microseconds since 1970
  updated  INTEGER NOT NULL,
  expires  INTEGER,           -- null for never
  revision INTEGER NOT NULL,
  metadata BLOB,
  data     BLOB,
  UNIQUE (kind, id)
);

CREATE INDEX run_record_parent ON run_record (kind, parent, created, id);
CREATE INDEX run_record_created ON run_record (kind, created, id);
CREATE INDEX run_record_status ON run_record (kind, status);
CREATE INDEX run_record_expires ON run_record (expires) WHERE expires IS NOT NULL;

-- The event log of a thread.
CREATE TABLE run_log (
  key     INTEGER PRIMARY KEY AUTOINCREMENT,
  thread  TEXT NOT NULL UNIQUE,
  last    INTEGER NOT NULL DEFAULT 0,  -- the number of the last event
  trimmed INTEGER NOT NULL DEFAULT 0,  -- the highest number that was trimmed
  events  INTEGER NOT NULL DEFAULT 0,  -- how many events there are
  bytes   INTEGER NOT NULL DEFAULT 0   -- the size of their data
);

CREATE TABLE run_event (
  log  INTEGER NOT NULL,
  seq  INTEGER NOT NULL,
  run  TEXT NOT NULL,
  time INTEGER NOT NULL,
  head BLOB NOT NULL,  -- the other fields as JSON
  data BLOB,
  PRIMARY KEY (log, seq)
) WITHOUT ROWID;

CREATE INDEX run_event_time ON run_event (time);

CREATE TABLE run_task (
  key        INTEGER PRIMARY KEY AUTOINCREMENT,
  thread     TEXT NOT NULL,
  id         TEXT NOT NULL,
  checkpoint TEXT NOT NULL,
  data       BLOB,
  UNIQUE (thread, id)
);

CREATE INDEX run_task_checkpoint ON run_task (thread, checkpoint);
