-- The records of a user, newest first.
CREATE INDEX run_record_owner ON run_record (kind, owner, created, id);
