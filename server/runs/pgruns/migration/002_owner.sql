-- The records of a user, newest first.
CREATE INDEX run_record_owner ON weft.run_record (owner, kind, created, id);
