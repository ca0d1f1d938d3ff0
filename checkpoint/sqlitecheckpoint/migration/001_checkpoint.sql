-- A checkpoint has the key thread * 2^32 + n, where n counts the thread's
-- checkpoints from 1 in the order in which they were accepted. Keys of threads,
-- namespaces and origins are never given twice.

CREATE TABLE cp_thread (
  key     INTEGER PRIMARY KEY AUTOINCREMENT,
  id      TEXT NOT NULL UNIQUE,
  created INTEGER NOT NULL,           -- microseconds since 1970
  missing INTEGER NOT NULL DEFAULT 0  -- how many numbers below the newest are gone
);

-- The empty namespace has no row: its key is 0.
CREATE TABLE cp_namespace (
  key    INTEGER PRIMARY KEY AUTOINCREMENT,
  thread INTEGER NOT NULL,
  name   TEXT NOT NULL,
  UNIQUE (thread, name)
);

-- What the checkpoints of one run have in common.
CREATE TABLE cp_origin (
  key     INTEGER PRIMARY KEY AUTOINCREMENT,
  thread  INTEGER NOT NULL,
  digest  BLOB NOT NULL,  -- of run, version and metadata
  run     TEXT NOT NULL,
  version TEXT NOT NULL,
  UNIQUE (thread, digest)
);

CREATE TABLE cp_label (
  origin INTEGER NOT NULL,
  name   TEXT NOT NULL,
  value  TEXT NOT NULL,
  PRIMARY KEY (origin, name)
) WITHOUT ROWID;

-- The large columns come last, so that history is read without them.
CREATE TABLE cp_step (
  key       INTEGER PRIMARY KEY,
  namespace INTEGER NOT NULL,
  parent    INTEGER NOT NULL,  -- how far back the parent's key is; 0 for none
  id        BLOB NOT NULL,     -- 16 bytes for a UUID, text for anything else
  step      INTEGER NOT NULL,
  source    BLOB NOT NULL,     -- a number, or text
  origin    INTEGER NOT NULL,
  time      INTEGER NOT NULL,  -- microseconds since 1970
  whole     INTEGER NOT NULL,  -- 1 when the snapshot or the base starts from nothing
  control   BLOB NOT NULL,     -- behind a checksum
  changes   BLOB NOT NULL,
  snapshot  BLOB,
  base      BLOB               -- what removed ancestors leave to the lineage
);

CREATE INDEX cp_step_namespace ON cp_step (namespace) WHERE namespace > 0;

-- A sparse index of ids; see mark.go.
CREATE TABLE cp_mark (
  thread INTEGER NOT NULL,
  id     BLOB NOT NULL,
  key    INTEGER NOT NULL,
  PRIMARY KEY (thread, id)
) WITHOUT ROWID;

CREATE TABLE cp_pending (
  step   INTEGER NOT NULL,
  task   TEXT NOT NULL,
  number INTEGER NOT NULL,
  data   BLOB NOT NULL,
  PRIMARY KEY (step, task, number)
) WITHOUT ROWID;
