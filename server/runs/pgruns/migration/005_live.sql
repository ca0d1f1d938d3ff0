-- The runs that have not ended and the threads that are busy, so that a search for them reads no others. It
-- has no status: then a run that begins after a wait changes no index.
CREATE TABLE weft.run_live (
  kind text COLLATE "C" NOT NULL,
  id   text COLLATE "C" NOT NULL,
  PRIMARY KEY (kind, id)
) WITH (autovacuum_vacuum_scale_factor = 0.02);

CREATE FUNCTION weft.run_live_changed() RETURNS trigger LANGUAGE plpgsql AS $f$
BEGIN
  IF TG_OP <> 'DELETE' AND NEW.status IN ('pending', 'running', 'busy') THEN
    INSERT INTO weft.run_live (kind, id) VALUES (NEW.kind, NEW.id) ON CONFLICT DO NOTHING;
  ELSE
    DELETE FROM weft.run_live WHERE kind = OLD.kind AND id = OLD.id;
  END IF;
  RETURN NULL;
END $f$;

CREATE TRIGGER run_live_inserted AFTER INSERT ON weft.run_record FOR EACH ROW
  WHEN (NEW.status IN ('pending', 'running', 'busy')) EXECUTE FUNCTION weft.run_live_changed();
CREATE TRIGGER run_live_updated AFTER UPDATE ON weft.run_record FOR EACH ROW
  WHEN ((OLD.status IN ('pending', 'running', 'busy')) <> (NEW.status IN ('pending', 'running', 'busy')))
  EXECUTE FUNCTION weft.run_live_changed();
CREATE TRIGGER run_live_deleted AFTER DELETE ON weft.run_record FOR EACH ROW
  WHEN (OLD.status IN ('pending', 'running', 'busy')) EXECUTE FUNCTION weft.run_live_changed();
