-- Values under names.
SELECT set_config('search_path', (SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
  WHERE e.extname = 'vector'), true);

-- A scope has a row as soon as a value is stored in it. Who writes its values locks it.
CREATE TABLE weft.mem_value_scope (
  key       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  newest    timestamptz NOT NULL,  -- when the last change was: the next is later, and so are versions
  digest    bytea NOT NULL UNIQUE, -- of the four names
  tenant    text COLLATE "C" NOT NULL,
  workspace text COLLATE "C" NOT NULL,
  user_id   text COLLATE "C" NOT NULL,
  agent     text COLLATE "C" NOT NULL,
  -- Nobody may take the place of a scope that is not theirs.
  CHECK (digest = weft.mem_digest(tenant, workspace, user_id, agent))
);
CREATE INDEX mem_value_scope_tenant ON weft.mem_value_scope (tenant, user_id);
CREATE INDEX mem_value_scope_user ON weft.mem_value_scope (user_id);

CREATE TABLE weft.mem_value (
  key        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  scope      bigint NOT NULL,
  version    bigint NOT NULL,       -- when it was written, in microseconds
  ttl        bigint,                -- how long it lives, in microseconds
  space      bigint,                -- stands for model and dimension; null without a vector
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  expires_at timestamptz,
  word_count int NOT NULL,          -- how many terms there are
  refresh    boolean NOT NULL,      -- a read makes it live on
  namespace  text[] COLLATE "C" NOT NULL,
  name       text COLLATE "C" NOT NULL,
  model      text COLLATE "C" NOT NULL,
  value      jsonb NOT NULL,        -- what conditions are asked of
  raw        json NOT NULL,         -- the value, as it was stored
  words      bigint[] NOT NULL,     -- the different terms, as numbers
  terms      text[] NOT NULL,
  embedding  vector
);
CREATE UNIQUE INDEX mem_value_name ON weft.mem_value (scope, namespace, name);
CREATE INDEX mem_value_new ON weft.mem_value (scope, updated_at DESC) INCLUDE (expires_at, word_count);
CREATE INDEX mem_value_expires ON weft.mem_value (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX mem_value_words ON weft.mem_value USING gin (words);

-- What is forgotten is not to stay behind in what the planner knows of columns.
ALTER TABLE weft.mem_value_scope ALTER workspace SET STATISTICS 0, ALTER user_id SET STATISTICS 0, ALTER agent SET STATISTICS 0;
ALTER TABLE weft.mem_value ALTER namespace SET STATISTICS 0, ALTER name SET STATISTICS 0, ALTER value SET STATISTICS 0, ALTER raw SET STATISTICS 0,
  ALTER terms SET STATISTICS 0, ALTER embedding SET STATISTICS 0;

-- mem_put does writes in a scope, all or none. A refusal is a row with a status, and fails no
-- transaction around it.
CREATE OR REPLACE FUNCTION weft.mem_put(p_lock bigint[], p_digest bytea, p_names text[], p_most bigint,
  p_namespace text[], p_name text[], p_version bigint[], p_value text[], p_raw text[], p_ttl bigint[], p_refresh boolean[],
  p_terms text[], p_words text[], p_model text[], p_space bigint[], p_vector text[])
RETURNS TABLE (o_status text, o_change int, o_about text, o_version bigint, o_created timestamptz, o_updated timestamptz, o_expires timestamptz)
LANGUAGE plpgsql SET search_path FROM CURRENT AS $fn$
#variable_conflict use_column
DECLARE
  v_scope bigint;
  v_now timestamptz;
  v_version bigint;
  v_there boolean;
  v_grew boolean := false;
  v_count bigint;
  r record;
  f record;
BEGIN
  PERFORM pg_advisory_xact_lock_shared(k) FROM unnest(p_lock) AS k;
  SELECT s.key, s.newest INTO v_scope, v_now FROM weft.mem_value_scope s WHERE s.digest = p_digest FOR UPDATE;
  IF NOT FOUND THEN
    INSERT INTO weft.mem_value_scope (digest, tenant, workspace, user_id, agent, newest)
    VALUES (p_digest, p_names[1], p_names[2], p_names[3], p_names[4], '-infinity') ON CONFLICT (digest) DO NOTHING;
    SELECT s.key, s.newest INTO v_scope, v_now FROM weft.mem_value_scope s WHERE s.digest = p_digest FOR UPDATE;
  END IF;
  v_now := greatest(clock_timestamp(), v_now + interval '1 microsecond');
  v_version := extract(epoch FROM v_now) * 1000000;
  o_status := '';
  FOR r IN SELECT * FROM unnest(p_namespace, p_name, p_version, p_value, p_raw, p_ttl, p_refresh, p_terms, p_words, p_model, p_space, p_vector)
    WITH ORDINALITY AS g (namespace, name, version, value, raw, ttl, refresh, terms, words, model, space, embedding, nr)
  LOOP
    o_change := r.nr - 1;
    o_version := 0;
    IF r.version <> 0 OR r.raw IS NULL THEN
      SELECT o.key, o.version, o.expires_at INTO f FROM weft.mem_value o
      WHERE o.scope = v_scope AND o.namespace = r.namespace::text[] AND o.name = r.name;
      v_there := FOUND AND (f.expires_at IS NULL OR f.expires_at > v_now);
      IF v_there AND r.version NOT IN (0, f.version) OR NOT v_there AND r.version > 0 THEN
        RAISE SQLSTATE 'WM000' USING MESSAGE = 'version', DETAIL = r.nr - 1, HINT = CASE WHEN v_there THEN f.version ELSE 0 END;
      END IF;
    END IF;
    IF r.raw IS NULL THEN
      DELETE FROM weft.mem_value WHERE key = f.key;
    ELSE
      o_version := v_version;
      o_updated := v_now;
      o_expires := v_now + r.ttl * interval '1 microsecond';
      INSERT INTO weft.mem_value AS o (scope, namespace, name, version, value, raw, ttl, refresh, created_at, updated_at, expires_at, words, terms, word_count,
        model, space, embedding)
      VALUES (v_scope, r.namespace::text[], r.name, o_version, r.value::jsonb, r.raw::json, r.ttl, r.refresh, v_now, v_now, o_expires,
        r.words::bigint[], r.terms::text[], cardinality(r.terms::text[]), r.model, r.space, r.embedding::vector)
      ON CONFLICT (scope, namespace, name) DO UPDATE SET version = excluded.version, value = excluded.value, raw = excluded.raw, ttl = excluded.ttl,
        refresh = excluded.refresh, created_at = CASE WHEN o.expires_at <= v_now THEN v_now ELSE o.created_at END, updated_at = excluded.updated_at, expires_at = excluded.expires_at,
        words = excluded.words, terms = excluded.terms, word_count = excluded.word_count, model = excluded.model, space = excluded.space,
        embedding = excluded.embedding
      RETURNING o.created_at INTO o_created;
      v_grew := v_grew OR o_created = v_now;
      v_version := v_version + 1;
    END IF;
    RETURN NEXT;
  END LOOP;
  IF v_grew AND p_most > 0 THEN
    SELECT count(*) INTO v_count FROM (SELECT FROM weft.mem_value o WHERE o.scope = v_scope
      AND (o.expires_at IS NULL OR o.expires_at > v_now) LIMIT p_most + 1) c;
    IF v_count > p_most THEN
      RAISE SQLSTATE 'WM000' USING MESSAGE = 'quota', DETAIL = 0;
    END IF;
  END IF;
  UPDATE weft.mem_value_scope SET newest = v_now + cardinality(p_name) * interval '1 microsecond' WHERE key = v_scope;
EXCEPTION WHEN SQLSTATE 'WM000' THEN -- which takes back all that was done
  GET STACKED DIAGNOSTICS o_status = MESSAGE_TEXT, o_about = PG_EXCEPTION_DETAIL;
  o_change := o_about::int;
  GET STACKED DIAGNOSTICS o_about = PG_EXCEPTION_HINT;
  RETURN NEXT;
END
$fn$;

-- mem_clear forgets the values of the scopes that a scope covers: parts that are empty cover all.
CREATE OR REPLACE FUNCTION weft.mem_clear(p_shared bigint[], p_alone bigint, p_names text[]) RETURNS bigint
LANGUAGE plpgsql SET search_path = '' AS $fn$
DECLARE
  v_scopes bigint[];
  v_count bigint;
BEGIN
  PERFORM pg_advisory_xact_lock_shared(k) FROM unnest(p_shared) AS k;
  PERFORM pg_advisory_xact_lock(p_alone);
  SELECT array_agg(c.key) INTO v_scopes FROM (SELECT s.key FROM weft.mem_value_scope s WHERE s.tenant = p_names[1] AND p_names[2] IN ('', s.workspace)
    AND p_names[3] IN ('', s.user_id) AND p_names[4] IN ('', s.agent) ORDER BY s.key FOR UPDATE) c;
  DELETE FROM weft.mem_value WHERE scope = ANY (v_scopes);
  GET DIAGNOSTICS v_count = ROW_COUNT;
  DELETE FROM weft.mem_value_scope WHERE key = ANY (v_scopes);
  RETURN v_count;
END
$fn$;
