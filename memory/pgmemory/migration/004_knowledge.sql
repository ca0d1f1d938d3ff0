-- Documents, and the chunks that they were cut into.
SELECT set_config('search_path', (SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
  WHERE e.extname = 'vector'), true);

-- A scope has a shelf as long as it has sources. Who changes them locks it.
CREATE TABLE weft.mem_shelf (
  key       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  sources   bigint NOT NULL DEFAULT 0,
  chunks    bigint NOT NULL DEFAULT 0,
  terms     bigint NOT NULL DEFAULT 0, -- how many all chunks have together
  newest    timestamptz NOT NULL,      -- when the last change was: the next is later
  digest    bytea NOT NULL UNIQUE,     -- of the four names
  tenant    text COLLATE "C" NOT NULL,
  workspace text COLLATE "C" NOT NULL,
  user_id   text COLLATE "C" NOT NULL,
  agent     text COLLATE "C" NOT NULL,
  -- Nobody may take the place of a scope that is not theirs.
  CHECK (digest = weft.mem_digest(tenant, workspace, user_id, agent))
);
CREATE INDEX mem_shelf_tenant ON weft.mem_shelf (tenant, user_id);
CREATE INDEX mem_shelf_user ON weft.mem_shelf (user_id);

CREATE TABLE weft.mem_source (
  key        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  shelf      bigint NOT NULL,
  revision   bigint NOT NULL,
  size       bigint NOT NULL,
  chunks     bigint NOT NULL,
  terms      bigint NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  id         uuid NOT NULL,
  trust      smallint NOT NULL CHECK (trust BETWEEN 0 AND 2),
  uri        text COLLATE "C" NOT NULL,
  title      text NOT NULL,
  version    text NOT NULL,
  format     text NOT NULL,
  sha256     text NOT NULL,
  recipe     text NOT NULL,
  model      text NOT NULL,
  metadata   jsonb, -- what conditions are asked of
  raw        bytea  -- the metadata, byte by byte
);
CREATE UNIQUE INDEX mem_source_uri ON weft.mem_source (shelf, uri);
CREATE UNIQUE INDEX mem_source_id ON weft.mem_source (shelf, id);

CREATE TABLE weft.mem_chunk (
  key        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  shelf      bigint NOT NULL,
  source     bigint NOT NULL,
  space      bigint,              -- stands for model and dimension; null without a vector
  starts     bigint NOT NULL,     -- the bytes of the source
  ends       bigint NOT NULL,
  ordinal    int NOT NULL,
  tokens     int NOT NULL,
  word_count int NOT NULL,        -- how many terms there are
  id         uuid NOT NULL,
  model      text COLLATE "C" NOT NULL,
  headings   text[] NOT NULL,
  content    text NOT NULL,
  words      bigint[] NOT NULL,   -- the different terms, as numbers
  terms      text[] NOT NULL,
  embedding  vector
);
CREATE UNIQUE INDEX mem_chunk_id ON weft.mem_chunk (source, id);
CREATE INDEX mem_chunk_place ON weft.mem_chunk (source, ordinal);
CREATE INDEX mem_chunk_shelf ON weft.mem_chunk (shelf);
CREATE INDEX mem_chunk_words ON weft.mem_chunk USING gin (words);

-- What is deleted is not to stay behind in what the planner knows of columns.
ALTER TABLE weft.mem_source ALTER uri SET STATISTICS 0, ALTER title SET STATISTICS 0, ALTER version SET STATISTICS 0,
  ALTER metadata SET STATISTICS 0, ALTER raw SET STATISTICS 0;
ALTER TABLE weft.mem_chunk ALTER headings SET STATISTICS 0, ALTER content SET STATISTICS 0, ALTER terms SET STATISTICS 0, ALTER embedding SET STATISTICS 0;

-- It takes a third off the time that it takes to store chunks, where the server has been built with it.
DO $do$ BEGIN
  ALTER TABLE weft.mem_chunk ALTER content SET COMPRESSION lz4, ALTER words SET COMPRESSION lz4, ALTER terms SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN
  NULL;
END $do$;

-- mem_put stores chunks of sources.
CREATE OR REPLACE FUNCTION weft.mem_put(p_shelf bigint, p_source bigint[], p_ordinal int[], p_start bigint[], p_end bigint[], p_tokens int[], p_id text[],
  p_model text[], p_headings text[], p_content text[], p_terms text[], p_words text[], p_space bigint[], p_vector text[]) RETURNS void
LANGUAGE sql SET search_path FROM CURRENT AS $fn$
  INSERT INTO weft.mem_chunk (shelf, source, ordinal, starts, ends, tokens, id, model, headings, content, terms, words, word_count, space, embedding)
  SELECT p_shelf, c.source, c.ordinal, c.starts, c.ends, c.tokens, c.id::uuid, c.model, c.headings::text[], c.content, c.terms::text[], c.words::bigint[],
    cardinality(c.terms::text[]), c.space, c.embedding::vector
  FROM unnest(p_source, p_ordinal, p_start, p_end, p_tokens, p_id, p_model, p_headings, p_content, p_terms, p_words, p_space, p_vector)
    AS c (source, ordinal, starts, ends, tokens, id, model, headings, content, terms, words, space, embedding)
$fn$;

-- mem_open_shelf locks the shelf of a scope, and makes it if there is none.
CREATE OR REPLACE FUNCTION weft.mem_open_shelf(p_digest bytea, p_names text[]) RETURNS weft.mem_shelf LANGUAGE plpgsql SET search_path = '' AS $fn$
DECLARE
  v_shelf weft.mem_shelf;
BEGIN
  FOR i IN 1 .. 100 LOOP -- until nobody has removed it meanwhile
    SELECT * INTO v_shelf FROM weft.mem_shelf s WHERE s.digest = p_digest FOR UPDATE;
    EXIT WHEN FOUND;
    INSERT INTO weft.mem_shelf (digest, tenant, workspace, user_id, agent, newest)
    VALUES (p_digest, p_names[1], p_names[2], p_names[3], p_names[4], '-infinity') ON CONFLICT (digest) DO NOTHING;
  END LOOP;
  RETURN v_shelf;
END
$fn$;

-- mem_swap puts sources in the place of what there is of them, all or none. A refusal is a row with a
-- status. Chunks that are kept, and new ones, name their source by its place in the call, from 1. A source has
-- p_terms in its new chunks, of which none need be given: then the caller stores them, in the same transaction.
CREATE OR REPLACE FUNCTION weft.mem_swap(p_digest bytea, p_names text[], p_most_sources bigint, p_most_chunks bigint,
  p_id text[], p_revision bigint[], p_uri text[], p_title text[], p_version text[], p_format text[], p_trust int[], p_metadata text[], p_raw bytea[],
  p_sha256 text[], p_size bigint[], p_recipe text[], p_model text[], p_chunks bigint[], p_terms bigint[],
  k_source int[], k_id text[], k_ordinal int[], k_start bigint[], k_end bigint[],
  c_source int[], c_ordinal int[], c_start bigint[], c_end bigint[], c_tokens int[], c_id text[],
  c_model text[], c_headings text[], c_content text[], c_terms text[], c_words text[], c_space bigint[], c_vector text[])
RETURNS TABLE (o_shelf bigint, o_sources bigint[], o_secured boolean, o_status text, o_change bigint, o_about text)
LANGUAGE plpgsql SET search_path FROM CURRENT AS $fn$
#variable_conflict use_column
DECLARE
  v_shelf weft.mem_shelf;
  v_now timestamptz;
  v_keys bigint[];
  r record;
BEGIN
  v_shelf := weft.mem_open_shelf(p_digest, p_names);
  v_now := greatest(clock_timestamp(), v_shelf.newest + interval '1 microsecond');

  SELECT g.nr, coalesce(o.revision, 0) AS revision INTO r FROM unnest(p_uri, p_revision) WITH ORDINALITY AS g (uri, revision, nr)
  LEFT JOIN weft.mem_source o ON o.shelf = v_shelf.key AND o.uri = g.uri WHERE coalesce(o.revision, 0) <> g.revision ORDER BY g.nr LIMIT 1;
  IF FOUND THEN
    RAISE SQLSTATE 'WM000' USING MESSAGE = 'revision', DETAIL = r.nr - 1, HINT = r.revision;
  END IF;

  -- What the sources had is taken off the shelf, and what they have now is put on it.
  SELECT count(*) AS sources, coalesce(sum(o.chunks), 0) AS chunks, coalesce(sum(o.terms), 0) AS terms INTO r
  FROM weft.mem_source o WHERE o.shelf = v_shelf.key AND o.uri = ANY (p_uri);
  v_shelf.sources := v_shelf.sources - r.sources + cardinality(p_uri);
  v_shelf.chunks := v_shelf.chunks - r.chunks + (SELECT coalesce(sum(n), 0) FROM unnest(p_chunks) n);
  v_shelf.terms := v_shelf.terms - r.terms;
  IF p_most_sources > 0 AND v_shelf.sources > p_most_sources OR p_most_chunks > 0 AND v_shelf.chunks > p_most_chunks THEN
    RAISE SQLSTATE 'WM000' USING MESSAGE = 'quota', DETAIL = v_shelf.sources, HINT = v_shelf.chunks;
  END IF;

  WITH stored AS (
    INSERT INTO weft.mem_source AS o (shelf, revision, size, chunks, terms, created_at, updated_at, id, trust, uri, title, version, format, sha256,
      recipe, model, metadata, raw)
    SELECT v_shelf.key, 1, g.size, g.chunks, g.terms, v_now, v_now, g.id::uuid, g.trust, g.uri, g.title, g.version, g.format, g.sha256, g.recipe, g.model,
      g.metadata::jsonb, g.raw
    FROM unnest(p_id, p_uri, p_title, p_version, p_format, p_trust, p_metadata, p_raw, p_sha256, p_size, p_recipe, p_model, p_chunks, p_terms)
      AS g (id, uri, title, version, format, trust, metadata, raw, sha256, size, recipe, model, chunks, terms)
    ON CONFLICT (shelf, uri) DO UPDATE SET revision = o.revision + 1, size = excluded.size, chunks = excluded.chunks, terms = excluded.terms,
      updated_at = v_now, trust = excluded.trust, title = excluded.title, version = excluded.version, format = excluded.format, sha256 = excluded.sha256,
      recipe = excluded.recipe, model = excluded.model, metadata = excluded.metadata, raw = excluded.raw
    RETURNING o.key, o.uri
  )
  SELECT array_agg(s.key ORDER BY g.nr) INTO v_keys FROM stored s JOIN unnest(p_uri) WITH ORDINALITY AS g (uri, nr) USING (uri);

  SELECT k.nr, k.id INTO r FROM unnest(k_source, k_id) WITH ORDINALITY AS k (source, id, nr)
  WHERE NOT EXISTS (SELECT FROM weft.mem_chunk f WHERE f.source = v_keys[k.source] AND f.id = k.id::uuid) ORDER BY k.nr LIMIT 1;
  IF FOUND THEN
    RAISE SQLSTATE 'WM000' USING MESSAGE = 'kept', DETAIL = k_source[r.nr] - 1, HINT = r.id;
  END IF;
  DELETE FROM weft.mem_chunk f WHERE f.source = ANY (v_keys)
  AND (f.source, f.id) NOT IN (SELECT v_keys[k.source], k.id::uuid FROM unnest(k_source, k_id) AS k (source, id));
  UPDATE weft.mem_chunk f SET ordinal = k.ordinal, starts = k.starts, ends = k.ends
  FROM unnest(k_source, k_id, k_ordinal, k_start, k_end) AS k (source, id, ordinal, starts, ends)
  WHERE f.source = v_keys[k.source] AND f.id = k.id::uuid AND (f.ordinal, f.starts, f.ends) <> (k.ordinal, k.starts, k.ends);
  IF cardinality(k_id) > 0 THEN
    UPDATE weft.mem_source o SET terms = o.terms + c.terms FROM (SELECT f.source, sum(f.word_count) AS terms FROM weft.mem_chunk f
      WHERE f.source = ANY (v_keys) GROUP BY f.source) c WHERE o.key = c.source;
  END IF;
  IF cardinality(c_source) > 0 THEN
    PERFORM weft.mem_put(v_shelf.key, ARRAY(SELECT v_keys[c.source] FROM unnest(c_source) WITH ORDINALITY AS c (source, nr) ORDER BY c.nr),
      c_ordinal, c_start, c_end, c_tokens, c_id, c_model, c_headings, c_content, c_terms, c_words, c_space, c_vector);
  END IF;

  UPDATE weft.mem_shelf s SET sources = v_shelf.sources, chunks = v_shelf.chunks, newest = v_now,
    terms = v_shelf.terms + (SELECT coalesce(sum(o.terms), 0) FROM weft.mem_source o WHERE o.key = ANY (v_keys)) WHERE s.key = v_shelf.key;
  RETURN QUERY SELECT v_shelf.key, v_keys, row_security_active('weft.mem_chunk'), '', 0::bigint, '';
EXCEPTION WHEN SQLSTATE 'WM000' THEN -- which takes back all that was done
  GET STACKED DIAGNOSTICS o_status = MESSAGE_TEXT, o_about = PG_EXCEPTION_DETAIL;
  o_change := o_about::bigint;
  GET STACKED DIAGNOSTICS o_about = PG_EXCEPTION_HINT;
  RETURN NEXT;
END
$fn$;

-- mem_remove removes sources that have these revisions, and counts them and those that have other ones. A
-- shelf on which there is nothing any more goes too.
CREATE OR REPLACE FUNCTION weft.mem_remove(p_shelf bigint[], p_source bigint[], p_revision bigint[], OUT removed bigint, OUT changed bigint)
LANGUAGE plpgsql SET search_path = '' AS $fn$
DECLARE
  v_keys bigint[];
BEGIN
  PERFORM FROM weft.mem_shelf s WHERE s.key = ANY (p_shelf) ORDER BY s.key FOR UPDATE;
  SELECT coalesce(array_agg(o.key) FILTER (WHERE o.revision = g.revision), '{}'), count(*) FILTER (WHERE o.revision <> g.revision) INTO v_keys, changed
  FROM unnest(p_source, p_revision) AS g (key, revision) JOIN weft.mem_source o ON o.key = g.key;
  UPDATE weft.mem_shelf s SET sources = s.sources - g.sources, chunks = s.chunks - g.chunks, terms = s.terms - g.terms
  FROM (SELECT o.shelf, count(*) AS sources, sum(o.chunks) AS chunks, sum(o.terms) AS terms FROM weft.mem_source o
    WHERE o.key = ANY (v_keys) GROUP BY o.shelf) g WHERE s.key = g.shelf;
  DELETE FROM weft.mem_chunk f WHERE f.source = ANY (v_keys);
  DELETE FROM weft.mem_source o WHERE o.key = ANY (v_keys);
  GET DIAGNOSTICS removed = ROW_COUNT;
  IF removed < cardinality(v_keys) THEN
    RAISE 'some of these sources can be read only' USING ERRCODE = 'insufficient_privilege';
  END IF;
  DELETE FROM weft.mem_shelf s WHERE s.key = ANY (p_shelf) AND s.sources = 0;
END
$fn$;
