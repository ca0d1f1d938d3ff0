-- Turns that wait to be learned, and the names of those that were.
CREATE TABLE weft.mem_turn (
  key      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  scope    bigint NOT NULL,
  due      timestamptz NOT NULL, -- when it may be claimed; of one that is parked or done, when that was
  said     timestamptz NOT NULL,
  attempts int NOT NULL DEFAULT 0,
  state    text COLLATE "C" NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'parked', 'done')),
  name     text COLLATE "C" NOT NULL,
  claim    text COLLATE "C" NOT NULL DEFAULT '',
  cause    text NOT NULL DEFAULT '',
  payload  text NOT NULL         -- empty when it is done
);
CREATE UNIQUE INDEX mem_turn_name ON weft.mem_turn (scope, name);
CREATE INDEX mem_turn_state ON weft.mem_turn (state, due, key);

-- As it is forgotten with its scope, it is in no statistics.
ALTER TABLE weft.mem_turn ALTER name SET STATISTICS 0, ALTER cause SET STATISTICS 0, ALTER payload SET STATISTICS 0;

-- mem_enqueue keeps a turn, unless it is known, or its user was forgotten after it was said. It
-- locks the scope against being forgotten and against nothing else, as it may be part of a long transaction.
CREATE OR REPLACE FUNCTION weft.mem_enqueue(p_lock bigint[], p_digest bytea, p_names text[], p_around bytea[], p_name text, p_said timestamptz, p_payload text)
RETURNS void LANGUAGE plpgsql SET search_path = '' AS $fn$
DECLARE
  v_scope bigint;
BEGIN
  PERFORM pg_advisory_xact_lock_shared(k) FROM unnest(p_lock) AS k;
  IF EXISTS (SELECT FROM weft.mem_forgotten t WHERE t.scope = ANY (p_around)
    AND t.owner IN (weft.mem_digest(p_names[3]), weft.mem_digest('')) AND t.at >= p_said) THEN -- and not what others say of this scope
    RETURN;
  END IF;
  SELECT s.key INTO v_scope FROM weft.mem_scope s WHERE s.digest = p_digest;
  IF v_scope IS NULL THEN
    INSERT INTO weft.mem_scope (digest, tenant, workspace, user_id, agent, newest)
    VALUES (p_digest, p_names[1], p_names[2], p_names[3], p_names[4], '-infinity') ON CONFLICT (digest) DO NOTHING;
    SELECT s.key INTO v_scope FROM weft.mem_scope s WHERE s.digest = p_digest;
  END IF;
  INSERT INTO weft.mem_turn (scope, due, said, name, payload) VALUES (v_scope, clock_timestamp(), p_said, p_name, p_payload)
  ON CONFLICT (scope, name) DO NOTHING;
END
$fn$;

-- mem_finish ends a claim, and reports whether there was one. It also forgets some of the turns that
-- were done long ago.
CREATE OR REPLACE FUNCTION weft.mem_finish(p_digest bytea, p_name text, p_claim text) RETURNS boolean
LANGUAGE plpgsql SET search_path = '' AS $fn$
DECLARE
  v_found boolean;
BEGIN
  UPDATE weft.mem_turn SET state = 'done', due = clock_timestamp(), claim = '', cause = '', payload = ''
  WHERE scope = (SELECT s.key FROM weft.mem_scope s WHERE s.digest = p_digest) AND name = p_name AND claim = p_claim;
  v_found := FOUND;
  DELETE FROM weft.mem_turn WHERE key = ANY (ARRAY(SELECT o.key FROM weft.mem_turn o
    WHERE o.state = 'done' AND o.due < statement_timestamp() - interval '60 days' ORDER BY o.due LIMIT 10 FOR UPDATE SKIP LOCKED));
  RETURN v_found;
END
$fn$;
