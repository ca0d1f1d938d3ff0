-- Documents as a table and a function in schema public, for programs in other languages: a row a chunk. They work
-- with the rights of who asks, so that the policies hold. Every statement can be run again. A table of the name that the
-- project has already stays as it is.
-- It is one statement, as its search path ends with its transaction.

DO $once$ BEGIN EXECUTE $script$
SELECT set_config('search_path', (SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
  WHERE e.extname = 'vector'), true);
SELECT '[1]'::vector IS NOT NULL; -- which loads its settings

-- match_knowledge returns the chunks nearest to a vector, the nearest first: of what belongs to no tenant, or
-- to one, or, with null, of all that the caller may see. With filter_model it compares vectors of that model alone, and may
-- take its index.
CREATE OR REPLACE FUNCTION public.match_knowledge(query_embedding vector, match_count int DEFAULT 10, filter_tenant text DEFAULT '',
  filter_model text DEFAULT NULL)
RETURNS TABLE (id uuid, content text, source text, similarity float8)
LANGUAGE plpgsql STABLE SECURITY INVOKER SET search_path FROM CURRENT SET hnsw.iterative_scan = 'relaxed_order' SET hnsw.ef_search = '200' AS $fn$
#variable_conflict use_column
DECLARE
  v_dims constant int := vector_dims(query_embedding);
  v_space constant bigint := weft.mem_number('space', filter_model, v_dims::text);
  v_index constant text := 'mem_chunk_near_' || lpad(to_hex(v_space), 16, '0');
  v_shelves constant bigint[] := ARRAY(SELECT s.key FROM weft.mem_shelf s WHERE filter_tenant IS NULL OR s.tenant = filter_tenant);
  v_keys bigint[];
BEGIN
  IF filter_model IS NOT NULL AND v_dims <= 2000 AND to_regclass('weft.' || v_index) IS NOT NULL THEN
    EXECUTE format('SELECT ARRAY(SELECT f.key FROM weft.mem_chunk f WHERE f.space = %L::bigint AND f.model = $2 AND f.shelf = ANY ($4)
      ORDER BY (f.embedding::vector(%s)) <=> $1 LIMIT $3)', v_space, v_dims)
    INTO v_keys USING query_embedding, filter_model, match_count, v_shelves;
  END IF;
  IF coalesce(cardinality(v_keys), 0) < match_count THEN
    v_keys := ARRAY(SELECT f.key FROM weft.mem_chunk f WHERE f.shelf = ANY (v_shelves) AND f.embedding IS NOT NULL
      AND CASE WHEN vector_dims(f.embedding) = v_dims THEN true ELSE false END AND (filter_model IS NULL OR f.model = filter_model)
      ORDER BY f.embedding <=> query_embedding LIMIT match_count);
  END IF;
  RETURN QUERY SELECT f.id, f.content, o.uri::text, 1 - (f.embedding <=> query_embedding)
    FROM weft.mem_chunk f JOIN weft.mem_source o ON o.key = f.source WHERE f.key = ANY (v_keys) ORDER BY f.embedding <=> query_embedding, f.key;
END
$fn$;

DO $do$ BEGIN
  IF to_regclass('public.knowledge_chunks') IS NULL THEN
    CREATE VIEW public.knowledge_chunks WITH (security_invoker = true) AS
    SELECT f.id, f.content, o.uri::text AS source, f.embedding, f.ordinal, coalesce(o.metadata, '{}') AS metadata, nullif(s.user_id, '') AS user_id,
      nullif(s.workspace, '') AS workspace_id, nullif(s.agent, '') AS agent_id, nullif(s.tenant, '') AS tenant_id
    FROM weft.mem_chunk f JOIN weft.mem_source o ON o.key = f.source JOIN weft.mem_shelf s ON s.key = f.shelf;
  END IF;
END $do$;

-- mem_shelve makes chunks what a row says. One that is inserted is the last of its source, which is made if there
-- is none, with its metadata. Without an id it gets one that follows from what it says, so that to insert it again changes its
-- vector at most. Its words are found as they are written, and one more, the empty word, says so. A program that searches there
-- reads it anew.
CREATE OR REPLACE FUNCTION weft.mem_shelve() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $fn$
DECLARE
  v record;
  v_names text[];
  v_digest bytea;
  v_shelf weft.mem_shelf;
  v_now timestamptz;
  v_source weft.mem_source;
  v_was record;
  v_terms text[];
  v_more int; -- chunks
  v_space bigint;
BEGIN
  IF TG_OP = 'DELETE' THEN v := OLD; ELSE v := NEW; END IF;
  IF TG_OP = 'UPDATE' AND (NEW.id, NEW.source, NEW.ordinal, NEW.metadata, NEW.user_id, NEW.workspace_id, NEW.agent_id, NEW.tenant_id)
    IS DISTINCT FROM (OLD.id, OLD.source, OLD.ordinal, OLD.metadata, OLD.user_id, OLD.workspace_id, OLD.agent_id, OLD.tenant_id) THEN
    RAISE 'of a chunk, content and embedding can be changed alone' USING ERRCODE = 'feature_not_supported';
  ELSIF coalesce(v.source, '') = '' OR octet_length(v.source) > 1024 OR v.content IS NULL THEN
    RAISE 'a chunk has content, and a source of 1 to 1024 bytes' USING ERRCODE = 'not_null_violation';
  END IF;
  IF TG_OP = 'INSERT' AND jsonb_typeof(v.metadata) <> 'object' THEN
    RAISE 'metadata is no object' USING ERRCODE = 'check_violation';
  END IF;
  v_names := ARRAY[coalesce(v.tenant_id, ''), coalesce(v.workspace_id, ''), coalesce(v.user_id, ''), coalesce(v.agent_id, '')];
  v_digest := weft.mem_digest(VARIADIC v_names);
  IF v.id IS NULL THEN
    v.id := encode(substring(weft.mem_digest(VARIADIC v_names || v.source || v.content) FROM 1 FOR 16), 'hex')::uuid;
  END IF;

  v_shelf := weft.mem_open_shelf(v_digest, v_names);
  v_now := greatest(clock_timestamp(), v_shelf.newest + interval '1 microsecond');
  SELECT * INTO v_source FROM weft.mem_source o WHERE o.shelf = v_shelf.key AND o.uri = v.source;
  SELECT f.key, f.word_count, f.content, f.model, f.embedding INTO v_was FROM weft.mem_chunk f WHERE f.source = v_source.key AND f.id = v.id;
  IF v_was.key IS NULL AND TG_OP <> 'INSERT' THEN
    RETURN NULL; -- somebody has removed it meanwhile
  ELSIF TG_OP <> 'DELETE' AND v_was.content = v.content
    AND v_was.embedding IS NOT DISTINCT FROM (CASE TG_OP WHEN 'INSERT' THEN coalesce(v.embedding, v_was.embedding) ELSE v.embedding END) THEN
    RETURN v;
  ELSIF v_was.content <> v.content AND v_was.embedding = v.embedding THEN
    v.embedding := NULL; -- it is that of another text
  END IF;

  v_terms := CASE WHEN TG_OP = 'DELETE' THEN '{}' ELSE array_append(array_remove(regexp_split_to_array(lower(v.content), '[^[:alnum:]]+'), ''), '') END;
  v_space := CASE WHEN v.embedding IS NOT NULL THEN weft.mem_number('space', '', vector_dims(v.embedding)::text) END;
  v_more := CASE WHEN TG_OP = 'DELETE' THEN -1 WHEN v_was.key IS NULL THEN 1 ELSE 0 END;
  IF v_source.key IS NULL THEN
    INSERT INTO weft.mem_source (shelf, revision, size, chunks, terms, created_at, updated_at, id, trust, uri, title, version, format, sha256, recipe, model, metadata, raw)
    VALUES (v_shelf.key, 0, 0, 0, 0, v_now, v_now, gen_random_uuid(), 0, v.source, left(v.source, 500), '', 'text', '', '', '',
      v.metadata, convert_to(v.metadata::text, 'UTF8')) RETURNING * INTO v_source;
    v_shelf.sources := v_shelf.sources + 1;
  END IF;
  IF TG_OP = 'DELETE' THEN
    DELETE FROM weft.mem_chunk WHERE key = v_was.key;
  ELSIF v_was.key IS NOT NULL THEN
    UPDATE weft.mem_chunk SET content = v.content, ends = starts + octet_length(v.content), tokens = length(v.content) / 4 + 1, terms = v_terms,
      words = ARRAY(SELECT DISTINCT weft.mem_number('word', v_names[1], w) FROM unnest(v_terms) w), word_count = cardinality(v_terms),
      model = '', space = v_space, embedding = v.embedding WHERE key = v_was.key;
  ELSE
    INSERT INTO weft.mem_chunk (shelf, source, space, starts, ends, ordinal, tokens, word_count, id, model, headings, content, words, terms, embedding)
    SELECT v_shelf.key, v_source.key, v_space, coalesce(max(f.ends), 0), coalesce(max(f.ends), 0) + octet_length(v.content), coalesce(max(f.ordinal) + 1, 0),
      length(v.content) / 4 + 1, cardinality(v_terms), v.id, '', '{}', v.content,
      ARRAY(SELECT DISTINCT weft.mem_number('word', v_names[1], w) FROM unnest(v_terms) w), v_terms, v.embedding
    FROM weft.mem_chunk f WHERE f.source = v_source.key;
  END IF;
  IF v_source.chunks + v_more = 0 THEN
    DELETE FROM weft.mem_source WHERE key = v_source.key;
    v_shelf.sources := v_shelf.sources - 1;
  ELSE
    -- What was ingested is not what there is any more, so that a program ingests it again.
    UPDATE weft.mem_source SET revision = revision + 1, chunks = chunks + v_more, terms = terms + cardinality(v_terms) - coalesce(v_was.word_count, 0),
      updated_at = v_now, sha256 = '', recipe = '', model = '' WHERE key = v_source.key;
  END IF;
  IF v_shelf.sources = 0 THEN
    DELETE FROM weft.mem_shelf WHERE key = v_shelf.key;
  ELSE
    UPDATE weft.mem_shelf SET sources = v_shelf.sources, chunks = chunks + v_more, terms = terms + cardinality(v_terms) - coalesce(v_was.word_count, 0), newest = v_now
    WHERE key = v_shelf.key;
  END IF;
  RETURN v;
END
$fn$;

DO $do$ BEGIN
  IF EXISTS (SELECT FROM pg_class WHERE oid = to_regclass('public.knowledge_chunks') AND relkind = 'v')
  AND NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = 'public.knowledge_chunks'::regclass AND tgname = 'write') THEN
    CREATE TRIGGER write INSTEAD OF INSERT OR UPDATE OR DELETE ON public.knowledge_chunks FOR EACH ROW EXECUTE FUNCTION weft.mem_shelve();
    REVOKE ALL ON public.knowledge_chunks FROM PUBLIC, anon, authenticated;
    GRANT SELECT, INSERT, UPDATE, DELETE ON public.knowledge_chunks TO authenticated, service_role;
  END IF;
END $do$;

REVOKE ALL ON FUNCTION weft.mem_shelve(), public.match_knowledge(vector, int, text, text) FROM PUBLIC, anon;
GRANT EXECUTE ON FUNCTION weft.mem_shelve(), public.match_knowledge(vector, int, text, text) TO authenticated, service_role;
$script$;
END $once$;
