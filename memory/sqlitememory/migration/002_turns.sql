-- Turns that wait to be learned, and the names of those that were.
CREATE TABLE mem_turn (
  key      INTEGER PRIMARY KEY AUTOINCREMENT,
  scope    INTEGER NOT NULL,
  name     TEXT NOT NULL,
  state    TEXT NOT NULL,    -- waiting, parked or done
  due      INTEGER NOT NULL, -- when it may be claimed; of one that is done, when that was
  said     INTEGER NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  claim    TEXT NOT NULL DEFAULT '',
  cause    TEXT NOT NULL DEFAULT '',
  payload  TEXT NOT NULL     -- empty when it is done
);

CREATE UNIQUE INDEX mem_turn_name ON mem_turn (scope, name);
CREATE INDEX mem_turn_state ON mem_turn (state, due, key);
