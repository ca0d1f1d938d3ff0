-- The threads that wait or have failed, so that a list of them reads no others. An index of the table of
-- records cannot have the status: then each run would change all its indexes twice.
CREATE TABLE weft.run_open (
  thread text COLLATE "C" PRIMARY KEY,
  state  text COLLATE "C" NOT NULL,  -- the status
  made   timestamptz NOT NULL        -- when the thread was created
) WITH (autovacuum_vacuum_scale_factor = 0.02);

CREATE INDEX run_open_state ON weft.run_open (state, made, thread);

CREATE FUNCTION weft.run_open_changed() RETURNS trigger LANGUAGE plpgsql AS $f$
BEGIN
  IF TG_OP <> 'INSERT' AND OLD.status IN ('interrupted', 'error') THEN
    DELETE FROM weft.run_open WHERE thread = OLD.id;
  END IF;
  IF TG_OP <> 'DELETE' AND NEW.status IN ('interrupted', 'error') THEN
    INSERT INTO weft.run_open (thread, state, made) VALUES (NEW.id, NEW.status, NEW.created)
    ON CONFLICT (thread) DO UPDATE SET state = excluded.state, made = excluded.made;
  END IF;
  RETURN NULL;
END $f$;

CREATE TRIGGER run_open_inserted AFTER INSERT ON weft.run_record FOR EACH ROW
  WHEN (NEW.kind = 'thread' AND NEW.status IN ('interrupted', 'error')) EXECUTE FUNCTION weft.run_open_changed();
CREATE TRIGGER run_open_updated AFTER UPDATE ON weft.run_record FOR EACH ROW
  WHEN (NEW.kind = 'thread' AND (OLD.status <> NEW.status OR OLD.created <> NEW.created)) EXECUTE FUNCTION weft.run_open_changed();
CREATE TRIGGER run_open_deleted AFTER DELETE ON weft.run_record FOR EACH ROW
  WHEN (OLD.kind = 'thread' AND OLD.status IN ('interrupted', 'error')) EXECUTE FUNCTION weft.run_open_changed();
