-- What is remembered, as a table and a function in schema public, for programs in other languages: by
-- PostgREST, or by SQL. Both work with the rights of who asks, so that the policies hold. Every
-- statement can be run again. A table of the name that the project has already stays as it is.
-- It is one statement, as its search path ends with its transaction.

DO $once$ BEGIN EXECUTE $script$
SELECT set_config('search_path', (SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
  WHERE e.extname = 'vector'), true);
SELECT '[1]'::vector IS NOT NULL; -- which loads its settings

-- mem_number stands for texts where a number is needed.
CREATE OR REPLACE FUNCTION weft.mem_number(VARIADIC p_parts text[]) RETURNS bigint LANGUAGE sql STABLE SET search_path = '' AS $fn$
  SELECT ('x' || encode(substring(weft.mem_digest(VARIADIC p_parts) FROM 1 FOR 8), 'hex'))::bit(64)::bigint
$fn$;

-- match_memories returns the facts nearest to a vector, the nearest first: of a user, or of all that the
-- caller may see. With filter_model it compares vectors of that model alone, and may take its index.
CREATE OR REPLACE FUNCTION public.match_memories(query_embedding vector, match_count int DEFAULT 10, filter_user_id text DEFAULT NULL,
  include_global boolean DEFAULT false, filter_model text DEFAULT NULL)
RETURNS TABLE (id uuid, user_id text, content text, metadata jsonb, similarity float8)
LANGUAGE plpgsql STABLE SECURITY INVOKER SET search_path FROM CURRENT SET hnsw.iterative_scan = 'relaxed_order' SET hnsw.ef_search = '200' AS $fn$
#variable_conflict use_column
DECLARE
  v_dims constant int := vector_dims(query_embedding);
  v_index constant text := 'mem_fact_near_' || lpad(to_hex(weft.mem_number('space', filter_model, v_dims::text)), 16, '0');
  v_scopes constant bigint[] := ARRAY(SELECT s.key FROM weft.mem_scope s
    WHERE filter_user_id IS NULL OR s.user_id = filter_user_id OR include_global AND s.user_id = '');
  v_keys bigint[];
BEGIN
  -- A user's own facts are few: they are compared all. The index is for everybody's.
  IF filter_user_id IS NULL AND filter_model IS NOT NULL AND v_dims <= 2000 AND to_regclass('weft.' || v_index) IS NOT NULL THEN
    EXECUTE format('SELECT ARRAY(SELECT f.key FROM weft.mem_fact f WHERE f.space = %L::bigint AND f.model = $2
      AND f.trust < 2 AND f.valid_from <= now() AND (f.valid_to IS NULL OR f.valid_to > now()) AND (f.expires_at IS NULL OR f.expires_at > now())
      ORDER BY (f.embedding::vector(%s)) <=> $1 LIMIT $3)', weft.mem_number('space', filter_model, v_dims::text), v_dims)
    INTO v_keys USING query_embedding, filter_model, match_count;
  END IF;
  IF coalesce(cardinality(v_keys), 0) < match_count THEN
    v_keys := ARRAY(SELECT f.key FROM weft.mem_fact f WHERE f.scope = ANY (v_scopes) AND f.embedding IS NOT NULL
      AND CASE WHEN vector_dims(f.embedding) = v_dims THEN true ELSE false END AND (filter_model IS NULL OR f.model = filter_model)
      AND f.trust < 2 AND f.valid_from <= now() AND (f.valid_to IS NULL OR f.valid_to > now()) AND (f.expires_at IS NULL OR f.expires_at > now())
      ORDER BY f.embedding <=> query_embedding LIMIT match_count);
  END IF;
  RETURN QUERY SELECT f.id, nullif(s.user_id, ''), f.content, coalesce(f.metadata, '{}'), 1 - (f.embedding <=> query_embedding)
    FROM weft.mem_fact f JOIN weft.mem_scope s ON s.key = f.scope WHERE f.key = ANY (v_keys) ORDER BY f.embedding <=> query_embedding;
END
$fn$;

DO $do$ BEGIN
  IF to_regclass('public.agent_memories') IS NULL THEN
    CREATE VIEW public.agent_memories WITH (security_invoker = true) AS
    SELECT f.id, nullif(s.user_id, '') AS user_id, nullif(s.workspace, '') AS workspace_id, nullif(s.agent, '') AS agent_id,
      nullif(s.tenant, '') AS tenant_id, f.kind AS memory_type, f.content, nullif(f.conversation, '') AS conversation_id,
      coalesce(f.metadata, '{}') AS metadata, f.created_at, f.embedding
    FROM weft.mem_fact f JOIN weft.mem_scope s ON s.key = f.scope
    WHERE f.trust < 2 AND f.valid_from <= now() AND (f.valid_to IS NULL OR f.valid_to > now()) AND (f.expires_at IS NULL OR f.expires_at > now());
  END IF;
END $do$;

-- What is written by SQL is stored as what is written by a program is, but for the finer points of language: its
-- words are found as they are written, and one more, the empty word, says so. A program that searches there reads it anew.
CREATE OR REPLACE FUNCTION weft.mem_write() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $fn$
DECLARE
  v record;
  v_names text[];
  v_does text := CASE TG_OP WHEN 'INSERT' THEN 'add' WHEN 'UPDATE' THEN 'update' ELSE 'delete' END;
  v_words text[];
  v_normal text;
  v_schema constant text := (parse_ident(TG_ARGV[0]))[1];
  v_space bigint;
  o record; -- what is not in the view
  r record;
BEGIN
  IF TG_OP = 'DELETE' THEN v := OLD; ELSE v := NEW; END IF;
  IF TG_OP = 'UPDATE' AND (NEW.id, NEW.user_id, NEW.workspace_id, NEW.agent_id, NEW.tenant_id, NEW.memory_type)
    IS DISTINCT FROM (OLD.id, OLD.user_id, OLD.workspace_id, OLD.agent_id, OLD.tenant_id, OLD.memory_type) THEN
    RAISE 'of a memory, content, metadata and embedding can be changed alone' USING ERRCODE = 'feature_not_supported';
  END IF;
  v.id := coalesce(v.id, gen_random_uuid());
  v.memory_type := coalesce(v.memory_type, 'fact');
  v_names := ARRAY[coalesce(v.tenant_id, ''), coalesce(v.workspace_id, ''), coalesce(v.user_id, ''), coalesce(v.agent_id, '')];
  IF TG_OP <> 'DELETE' THEN
    CASE
      WHEN (SELECT max(octet_length(n)) FROM unnest(v_names || coalesce(v.conversation_id, '')) n) > 512 THEN
        RAISE 'a name has more than 512 bytes' USING ERRCODE = 'string_data_right_truncation';
      WHEN octet_length(v.content) > 16384 THEN
        RAISE 'the content has % bytes, and 16384 are allowed', octet_length(v.content) USING ERRCODE = 'string_data_right_truncation';
      WHEN octet_length(v.metadata::text) > 16384 THEN
        RAISE 'the metadata has % bytes, and 16384 are allowed', octet_length(v.metadata::text) USING ERRCODE = 'string_data_right_truncation';
      WHEN jsonb_typeof(v.metadata) NOT IN ('object', 'null') THEN
        RAISE 'the metadata is no object' USING ERRCODE = 'invalid_parameter_value';
      ELSE
    END CASE;
  END IF;
  v_words := array_append(array_remove(regexp_split_to_array(lower(v.content), '[^[:alnum:]]+'), ''), '');
  SELECT string_agg(w, ' ' ORDER BY nr) INTO v_normal FROM (SELECT nr, ltrim(rtrim(part, '.,;:!?"'')]'), '"''([') AS w
    FROM regexp_split_to_table(lower(normalize(translate(v.content, -- marks that are written in several ways, and those that nobody sees
      U&'\201C\201D\201E\00AB\00BB\2018\2019\201A\00B4`\2010\2011\2012\2013\2014\2015\2212\2026\3002\3001\00AD\200B\200C\200D\2060\FEFF',
      '"""""''''''''''-------..,'), NFC)), '\s+') WITH ORDINALITY AS p (part, nr)) n WHERE w <> '';
  SELECT f.model, f.importance, f.trust, f.expires_at INTO o FROM weft.mem_fact f JOIN weft.mem_scope s ON s.key = f.scope
    WHERE s.digest = weft.mem_digest(VARIADIC v_names) AND f.id = v.id;
  IF TG_OP = 'UPDATE' AND NEW.embedding IS DISTINCT FROM OLD.embedding THEN
    o.model := '';
  ELSIF TG_OP = 'UPDATE' AND NEW.content <> OLD.content THEN
    v.embedding := NULL; -- it is that of another text
  END IF;
  IF v.embedding IS NOT NULL THEN
    v_space := weft.mem_number('space', coalesce(o.model, ''), vector_dims(v.embedding)::text);
  END IF;
  SELECT * INTO r FROM weft.mem_apply(
    ARRAY[weft.mem_number('weft memory', v_schema, v_names[1]), weft.mem_number('weft memory', v_schema, v_names[1], v_names[3])],
    weft.mem_digest(VARIADIC v_names), v_names,
    ARRAY(SELECT weft.mem_digest(v_names[1], w, u, a) FROM unnest(ARRAY[v_names[2], '']) w, unnest(ARRAY[v_names[3], '']) u, unnest(ARRAY[v_names[4], '']) a),
    '', 0, false, ARRAY[v_does], ARRAY[v.id::text], ARRAY[0::bigint], ARRAY[current_user::text], ARRAY[NULL::timestamptz], ARRAY[''],
    ARRAY[v.memory_type], ARRAY[v.content], ARRAY[substring(sha256(convert_to(coalesce(v_normal, btrim(v.content)), 'UTF8')) FROM 1 FOR 16)],
    ARRAY[convert_to(v.metadata::text, 'UTF8')], ARRAY[v.metadata::text], ARRAY[coalesce(v.conversation_id, '')], ARRAY[0::bigint],
    ARRAY[coalesce(o.trust, 0)::int], ARRAY[coalesce(o.importance, 0.5)], ARRAY[v.created_at], ARRAY[NULL::timestamptz], ARRAY[''], ARRAY[o.expires_at],
    ARRAY[v_words::text], ARRAY[ARRAY(SELECT DISTINCT weft.mem_number('word', v_names[1], w) FROM unnest(v_words) w)::text],
    ARRAY[coalesce(o.model, '')], ARRAY[v_space], ARRAY[v.embedding::text]);
  IF r.o_status <> '' THEN
    RAISE 'memory %: %', v.id, r.o_status USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  v.id := r.o_id;
  RETURN v;
END
$fn$;

DO $do$ BEGIN
  IF EXISTS (SELECT FROM pg_class WHERE oid = to_regclass('public.agent_memories') AND relkind = 'v')
  AND NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = 'public.agent_memories'::regclass AND tgname = 'write') THEN
    CREATE TRIGGER write INSTEAD OF INSERT OR UPDATE OR DELETE ON public.agent_memories FOR EACH ROW EXECUTE FUNCTION weft.mem_write('weft');
    REVOKE ALL ON public.agent_memories FROM PUBLIC, anon, authenticated;
    GRANT SELECT, INSERT, UPDATE, DELETE ON public.agent_memories TO authenticated, service_role;
  END IF;
END $do$;

REVOKE ALL ON FUNCTION weft.mem_number(text[]), weft.mem_write(), public.match_memories(vector, int, text, boolean, text) FROM PUBLIC, anon;
GRANT EXECUTE ON FUNCTION weft.mem_number(text[]), weft.mem_write(), public.match_memories(vector, int, text, boolean, text)
  TO authenticated, service_role;
$script$;
END $once$;
