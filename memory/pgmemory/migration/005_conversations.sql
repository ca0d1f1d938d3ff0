-- Conversations: a row for each session, and one for each message.
CREATE TABLE weft.mem_session (
  key        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  messages   bigint NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL, -- later after each change, and so its version too
  digest     bytea NOT NULL,       -- of the names of the scope
  owner      bytea NOT NULL,       -- of the user's
  tenant     text COLLATE "C" NOT NULL,
  workspace  text COLLATE "C" NOT NULL,
  user_id    text COLLATE "C" NOT NULL,
  agent      text COLLATE "C" NOT NULL,
  id         text COLLATE "C" NOT NULL,
  title      text NOT NULL,
  metadata   jsonb,                -- what conditions are asked of
  raw        bytea,                -- the metadata, byte by byte
  UNIQUE (key, owner),
  CHECK (isfinite(created_at) AND isfinite(updated_at)),
  -- Nobody may take the place of a session that is not theirs.
  CHECK (digest = weft.mem_digest(tenant, workspace, user_id, agent) AND owner = weft.mem_digest(user_id))
);
CREATE UNIQUE INDEX mem_session_id ON weft.mem_session (digest, id);
CREATE INDEX mem_session_new ON weft.mem_session (digest, updated_at DESC, id DESC);
CREATE INDEX mem_session_tenant ON weft.mem_session (tenant, updated_at DESC, id DESC);
CREATE INDEX mem_session_user ON weft.mem_session (user_id);

CREATE TABLE weft.mem_message (
  key        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  session    bigint NOT NULL,
  position   bigint NOT NULL,
  at         timestamptz NOT NULL,
  word_count int NOT NULL,          -- how many terms there are
  rough      boolean NOT NULL DEFAULT false, -- the terms are words as they are written: nobody has found better ones yet
  owner      bytea NOT NULL,        -- that of the session, so that a policy needs no other table
  said       bytea NOT NULL,        -- equal for messages that say the same
  role       text COLLATE "C" NOT NULL,
  id         text COLLATE "C" NOT NULL,
  text       text NOT NULL,
  data       json NOT NULL,         -- the message, as it was stored
  plain      jsonb,                 -- and without what jsonb can not hold, if there is such
  words      bigint[] NOT NULL,     -- the different terms, as numbers
  terms      text[] NOT NULL CHECK (array_position(terms, NULL) IS NULL),
  CHECK (isfinite(at) AND json_typeof(data) = 'object'),
  FOREIGN KEY (session, owner) REFERENCES weft.mem_session (key, owner) ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE UNIQUE INDEX mem_message_position ON weft.mem_message (session, position) INCLUDE (role, at, word_count);
CREATE UNIQUE INDEX mem_message_id ON weft.mem_message (session, id);
CREATE INDEX mem_message_rough ON weft.mem_message (session) WHERE rough;
CREATE INDEX mem_message_words ON weft.mem_message USING gin (words);

-- What is forgotten is not to stay behind in what the planner knows of columns.
ALTER TABLE weft.mem_session ALTER workspace SET STATISTICS 0, ALTER user_id SET STATISTICS 0, ALTER agent SET STATISTICS 0,
  ALTER id SET STATISTICS 0, ALTER title SET STATISTICS 0, ALTER metadata SET STATISTICS 0, ALTER raw SET STATISTICS 0;
ALTER TABLE weft.mem_message ALTER id SET STATISTICS 0, ALTER text SET STATISTICS 0, ALTER data SET STATISTICS 0,
  ALTER plain SET STATISTICS 0, ALTER terms SET STATISTICS 0;

-- mem_note says that something was forgotten: p_stone and p_owner name it by digests.
CREATE OR REPLACE FUNCTION weft.mem_note(p_stone bytea, p_owner bytea, p_now timestamptz) RETURNS void
LANGUAGE sql SET search_path = '' AS $fn$
  INSERT INTO weft.mem_forgotten AS t (scope, owner, at) VALUES (p_stone, p_owner, p_now)
  ON CONFLICT (scope, owner) DO UPDATE SET at = greatest(t.at, excluded.at)
$fn$;

-- mem_converse does a change to a session, all of it or nothing, and returns the session as it is then. A
-- refusal is a row with a status, and fails no transaction around it.
CREATE OR REPLACE FUNCTION weft.mem_converse(
  p_lock bigint[], p_digest bytea, p_owner bytea, p_names text[], p_session text, p_around bytea[], p_stone bytea, p_most bigint,
  p_version bigint, p_heard timestamptz, p_delete boolean, p_describe boolean, p_title text, p_raw bytea, p_metadata text, p_from bigint, p_once boolean,
  p_id text[], p_said bytea[], p_role text[], p_text text[], p_data text[], p_plain text[], p_terms text[], p_words text[],
  p_rough boolean DEFAULT false)
RETURNS TABLE (o_status text, o_about text, o_title text, o_raw bytea, o_messages bigint, o_created timestamptz, o_updated timestamptz)
LANGUAGE plpgsql SET search_path = '' AS $fn$
DECLARE
  s weft.mem_session;
  v_there boolean;
  v_before bigint;
  v_version bigint;
  v_forgotten timestamptz;
  v_now timestamptz;
  v_added bigint := 0;
BEGIN
  PERFORM pg_advisory_xact_lock_shared(k) FROM unnest(p_lock) AS k;
  SELECT max(t.at) INTO v_forgotten FROM weft.mem_forgotten t WHERE t.scope = ANY (p_around)
    AND t.owner IN (weft.mem_digest(p_names[3]), weft.mem_digest('')); -- and not what others say of this scope
  LOOP
    SELECT * INTO s FROM weft.mem_session o WHERE o.digest = p_digest AND o.id = p_session FOR UPDATE;
    v_there := FOUND;
    v_version := extract(epoch FROM s.updated_at) * 1000000;
    o_status := CASE
      WHEN NOT v_there AND (p_delete OR p_describe OR p_from <> 0) THEN 'missing'
      WHEN NOT v_there AND p_version > 0 OR v_there AND p_version NOT IN (0, v_version) THEN 'version'
      WHEN p_heard <= v_forgotten THEN 'forgotten' END;
    IF o_status IS NOT NULL THEN
      o_about := v_version;
      RETURN NEXT;
      RETURN;
    END IF;
    v_now := greatest(clock_timestamp(), s.updated_at + interval '1 microsecond', v_forgotten + interval '1 microsecond');
    EXIT WHEN v_there;
    INSERT INTO weft.mem_session AS o (digest, owner, tenant, workspace, user_id, agent, id, title, messages, created_at, updated_at)
    VALUES (p_digest, p_owner, p_names[1], p_names[2], p_names[3], p_names[4], p_session, '', 0, v_now, v_now)
    ON CONFLICT (digest, id) DO NOTHING RETURNING * INTO s;
    EXIT WHEN FOUND; -- and else somebody has made it meanwhile
  END LOOP;
  v_before := s.messages;
  IF p_delete THEN
    PERFORM weft.mem_note(p_stone, p_owner, v_now);
    DELETE FROM weft.mem_session WHERE key = s.key;
    v_now := s.updated_at;
  ELSE
    IF p_describe THEN
      s.title := p_title;
      s.raw := p_raw;
      s.metadata := p_metadata::jsonb;
    END IF;
    IF p_from > 0 AND p_from <= s.messages THEN
      DELETE FROM weft.mem_message WHERE session = s.key AND position >= p_from;
      s.messages := p_from - 1;
    END IF;
    IF cardinality(p_id) > 0 THEN
      INSERT INTO weft.mem_message (session, position, at, owner, said, role, id, text, data, plain, words, terms, word_count, rough)
      SELECT s.key, s.messages + row_number() OVER (ORDER BY g.nr), v_now, p_owner, g.said, g.role, g.id, g.text, g.data::json, g.plain::jsonb,
        g.words::bigint[], g.terms::text[], cardinality(g.terms::text[]), p_rough
      FROM unnest(p_id, p_said, p_role, p_text, p_data, p_plain, p_terms, p_words)
        WITH ORDINALITY AS g (id, said, role, text, data, plain, terms, words, nr)
      WHERE NOT EXISTS (SELECT FROM weft.mem_message m WHERE m.session = s.key AND m.id = g.id)
      AND NOT (p_once AND EXISTS (SELECT FROM weft.mem_message m WHERE m.session = s.key AND m.said = g.said))
      ORDER BY g.nr;
      GET DIAGNOSTICS v_added = ROW_COUNT;
      s.messages := s.messages + v_added;
    END IF;
    IF p_most > 0 AND s.messages > p_most AND (NOT v_there OR s.messages > v_before) THEN
      RAISE SQLSTATE 'WM000' USING MESSAGE = 'quota', DETAIL = s.messages;
    END IF;
    UPDATE weft.mem_session SET title = s.title, raw = s.raw, metadata = s.metadata, messages = s.messages, updated_at = v_now WHERE key = s.key;
  END IF;
  RETURN QUERY SELECT '', '', s.title, s.raw, s.messages, s.created_at, v_now;
EXCEPTION WHEN SQLSTATE 'WM000' THEN -- which takes back all that was done
  GET STACKED DIAGNOSTICS o_status = MESSAGE_TEXT, o_about = PG_EXCEPTION_DETAIL;
  RETURN NEXT;
END
$fn$;

-- mem_hush forgets the sessions of the scopes that a scope covers: parts that are empty cover all. It waits
-- for those who store in them, and keeps others from doing so.
CREATE OR REPLACE FUNCTION weft.mem_hush(p_shared bigint[], p_alone bigint, p_stone bytea, p_owner bytea, p_names text[]) RETURNS bigint
LANGUAGE plpgsql SET search_path = '' AS $fn$
DECLARE
  v_sessions bigint[];
  v_now timestamptz;
BEGIN
  PERFORM pg_advisory_xact_lock_shared(k) FROM unnest(p_shared) AS k;
  PERFORM pg_advisory_xact_lock(p_alone);
  SELECT array_agg(c.key), greatest(clock_timestamp(), max(c.updated_at) + interval '1 microsecond') INTO v_sessions, v_now
  FROM (SELECT s.key, s.updated_at FROM weft.mem_session s WHERE s.tenant = p_names[1] AND p_names[2] IN ('', s.workspace)
    AND p_names[3] IN ('', s.user_id) AND p_names[4] IN ('', s.agent) ORDER BY s.key FOR UPDATE) c;
  PERFORM weft.mem_note(p_stone, p_owner, v_now);
  DELETE FROM weft.mem_message WHERE session = ANY (v_sessions);
  DELETE FROM weft.mem_session WHERE key = ANY (v_sessions);
  RETURN coalesce(cardinality(v_sessions), 0);
END
$fn$;
