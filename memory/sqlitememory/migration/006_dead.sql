-- Sources that are gone, and whose chunks are still to be removed. The secret is that of the words: the scope
-- may be gone, too.
CREATE TABLE mem_source_dead (
  source INTEGER PRIMARY KEY,
  secret BLOB NOT NULL
);
