-- Functions in schema public that name the user, messages and chunks that users may store, and functions that forget a
-- user. Each runs with the rights of its caller. Every statement can run again.
-- It is one statement, because its search path ends with its transaction.

DO $once$ BEGIN EXECUTE $script$
SELECT set_config('search_path', (SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
  WHERE e.extname = 'vector'), true);
SELECT '[1]'::vector IS NOT NULL; -- loads the settings of pgvector

-- mem_caller returns the user of a call. For a caller with row-level security it is the user of the token. The service has to
-- pass the user in the argument that p_argument names.
CREATE OR REPLACE FUNCTION weft.mem_caller(p_user text, p_argument text) RETURNS text LANGUAGE plpgsql STABLE SET search_path = '' AS $fn$
BEGIN
  IF NOT row_security_active('weft.mem_scope') THEN
    IF p_user IS NULL THEN
      RAISE 'the service has to name the user' USING ERRCODE = 'null_value_not_allowed',
        HINT = format('Pass %s: the id of the user, or an empty text for rows of no user.', p_argument);
    END IF;
    RETURN p_user;
  ELSIF auth.uid() IS NULL THEN
    RAISE 'the token names no user' USING ERRCODE = 'insufficient_privilege';
  ELSIF coalesce(p_user, '') NOT IN ('', auth.uid()::text) THEN
    RAISE '% is not the user of the token', p_argument USING ERRCODE = 'insufficient_privilege', HINT = format('Leave %s out.', p_argument);
  END IF;
  RETURN auth.uid()::text;
END
$fn$;

-- match_memories returns the facts nearest to a vector, the nearest first. A user gets own facts. The service passes the user,
-- '' for facts of no user, or '*' for the facts of all users. With filter_model it compares only vectors of that model, and may
-- use its index.
CREATE OR REPLACE FUNCTION public.match_memories(query_embedding vector, match_count int DEFAULT 10, filter_user_id text DEFAULT NULL,
  include_global boolean DEFAULT false, filter_model text DEFAULT NULL)
RETURNS TABLE (id uuid, user_id text, content text, metadata jsonb, similarity float8)
LANGUAGE plpgsql STABLE SECURITY INVOKER SET search_path FROM CURRENT SET hnsw.iterative_scan = 'relaxed_order' SET hnsw.ef_search = '200' AS $fn$
#variable_conflict use_column
DECLARE
  v_dims constant int := vector_dims(query_embedding);
  v_index constant text := 'mem_fact_near_' || lpad(to_hex(weft.mem_number('space', filter_model, v_dims::text)), 16, '0');
  v_user constant text := weft.mem_caller(filter_user_id, 'filter_user_id');
  v_all constant boolean := v_user = '*' AND NOT row_security_active('weft.mem_scope');
  v_scopes constant bigint[] := ARRAY(SELECT s.key FROM weft.mem_scope s WHERE v_all OR s.user_id = v_user OR include_global AND s.user_id = '');
  v_keys bigint[];
BEGIN
  -- The facts of one user are few, so all are compared. The index serves the facts of all users.
  IF v_all AND filter_model IS NOT NULL AND v_dims <= 2000 AND to_regclass('weft.' || v_index) IS NOT NULL THEN
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

-- match_knowledge returns the chunks nearest to a vector, the nearest first, of one tenant. A user gets own chunks, and shared
-- ones that a policy shows to users. The service gets shared chunks, which have no user, and those of the user that it passes.
-- With filter_model it compares only vectors of that model, and may use its index.
DROP FUNCTION IF EXISTS public.match_knowledge(vector, int, text, text);
CREATE OR REPLACE FUNCTION public.match_knowledge(query_embedding vector, match_count int DEFAULT 10, filter_tenant text DEFAULT '',
  filter_model text DEFAULT NULL, filter_user_id text DEFAULT '')
RETURNS TABLE (id uuid, content text, source text, similarity float8)
LANGUAGE plpgsql STABLE SECURITY INVOKER SET search_path FROM CURRENT SET hnsw.iterative_scan = 'relaxed_order' SET hnsw.ef_search = '200' AS $fn$
#variable_conflict use_column
DECLARE
  v_dims constant int := vector_dims(query_embedding);
  v_space constant bigint := weft.mem_number('space', filter_model, v_dims::text);
  v_index constant text := 'mem_chunk_near_' || lpad(to_hex(v_space), 16, '0');
  v_user constant text := weft.mem_caller(filter_user_id, 'filter_user_id');
  v_shelves constant bigint[] := ARRAY(SELECT s.key FROM weft.mem_shelf s
    WHERE (filter_tenant IS NULL OR s.tenant = filter_tenant) AND s.user_id IN (v_user, ''));
  v_keys bigint[];
BEGIN
  IF filter_tenant IS NULL AND NOT row_security_active('weft.mem_shelf') THEN
    RAISE 'the service has to name the tenant' USING ERRCODE = 'null_value_not_allowed', HINT = 'Pass filter_tenant: the tenant, or '''' for documents of no tenant.';
  END IF;
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

-- mem_talk stores the messages of a row in its session. An INSERT of an existing session of the user updates it. Messages
-- with which the stored and the new list begin do not change. Words are stored as they are written; the first search from Go
-- stores better ones.
CREATE OR REPLACE FUNCTION weft.mem_talk() RETURNS trigger LANGUAGE plpgsql SET search_path = '' AS $fn$
DECLARE
  v_schema constant text := (parse_ident(TG_ARGV[0]))[1];
  v record;
  v_names text[];
  v_user text;
  v_was text; -- the user before the statement
  v_session bigint;
  v_count bigint := 0;
  v_same bigint := 0;
  v_bad bigint; -- the first message that is refused, from 1
  v_null constant boolean := TG_OP <> 'DELETE' AND NEW.messages IS NULL;
  v_ids text[];
  v_new record;
  r record;
BEGIN
  IF TG_OP = 'DELETE' THEN v := OLD; ELSE v := NEW; END IF;
  IF TG_OP = 'UPDATE' AND (NEW.session_id, NEW.tenant_id, NEW.workspace_id, NEW.agent_id) IS DISTINCT FROM (OLD.session_id, OLD.tenant_id, OLD.workspace_id, OLD.agent_id)
    OR TG_OP = 'UPDATE' AND NEW.user_id <> OLD.user_id THEN
    RAISE 'session %: only the messages can be changed', OLD.session_id USING ERRCODE = 'feature_not_supported';
  ELSIF coalesce(v.session_id, '') = '' OR octet_length(v.session_id) > 512 THEN
    RAISE 'a session id has 1 to 512 bytes' USING ERRCODE = 'not_null_violation';
  END IF;
  v.messages := coalesce(v.messages, '[]');
  IF octet_length(v.messages::text) > 67108864 THEN
    RAISE 'the messages of session % have more than 67108864 bytes', v.session_id USING ERRCODE = 'program_limit_exceeded';
  END IF;
  IF jsonb_typeof(v.messages) <> 'array' OR jsonb_array_length(v.messages) > 10000 THEN
    RAISE 'the messages of session % are not an array with at most 10000 elements', v.session_id USING ERRCODE = 'invalid_parameter_value';
  END IF;
  SELECT e.nr - 1 INTO v_count FROM jsonb_array_elements(v.messages) WITH ORDINALITY AS e (entry, nr)
    WHERE TG_OP <> 'DELETE' AND weft.mem_role(e.entry) IS NULL LIMIT 1;
  IF FOUND THEN
    RAISE 'message % of session % is not a message of LangChain', v_count, v.session_id USING ERRCODE = 'invalid_parameter_value',
      HINT = 'Messages are as messages_to_dict writes them: {"type": "human", "data": {"content": "..."}}';
  END IF;

  -- A session belongs to one user, or to none. Another user may have a session with the same id. The service gives a
  -- session of no user to a user with an UPDATE that sets user_id.
  v_was := CASE WHEN TG_OP = 'INSERT' THEN coalesce(v.user_id, auth.uid()::text, '') ELSE coalesce(OLD.user_id, '') END;
  v_user := CASE WHEN TG_OP = 'UPDATE' AND v_was = '' THEN coalesce(NEW.user_id, '') ELSE v_was END;
  v_names := ARRAY[coalesce(v.tenant_id, ''), coalesce(v.workspace_id, ''), v_user, coalesce(v.agent_id, '')];
  PERFORM pg_advisory_xact_lock_shared(k) FROM unnest(ARRAY[weft.mem_number('weft memory', v_schema, v_names[1]),
    weft.mem_number('weft memory', v_schema, v_names[1], v_user)]) AS k;
  IF v_was = '' AND v_user <> '' THEN
    UPDATE weft.mem_session SET user_id = v_user, owner = weft.mem_digest(v_user), digest = weft.mem_digest(VARIADIC v_names)
    WHERE digest = weft.mem_digest(v_names[1], v_names[2], '', v_names[4]) AND id = v.session_id;
  END IF;

  -- Messages with which the stored and the new list begin stay, with their ids.
  v_count := 0;
  SELECT s.key, s.messages INTO v_session, v_count FROM weft.mem_session s WHERE s.digest = weft.mem_digest(VARIADIC v_names) AND s.id = v.session_id FOR UPDATE;
  IF v_null AND v_session IS NOT NULL THEN
    RAISE 'the messages of session % are null', v.session_id USING ERRCODE = 'not_null_violation', HINT = 'A session without messages has an empty array.';
  END IF;
  SELECT count(*), array_agg(m.id) INTO v_same, v_ids FROM (
    SELECT m.id, bool_and(coalesce(m.plain, m.data::jsonb) = e.entry) OVER (ORDER BY m.position) AS same
    FROM weft.mem_message m JOIN jsonb_array_elements(v.messages) WITH ORDINALITY AS e (entry, nr) ON e.nr = m.position
    WHERE m.session = v_session) m WHERE m.same;
  SELECT e.nr INTO v_bad FROM jsonb_array_elements(v.messages) WITH ORDINALITY AS e (entry, nr)
  WHERE TG_OP <> 'DELETE' AND e.nr > v_same AND row_security_active('weft.mem_session')
  AND (e.entry ->> 'type' NOT IN ('human', 'HumanMessageChunk', 'ai', 'AIMessageChunk', 'tool', 'ToolMessageChunk')
    OR coalesce(e.entry #>> '{data,type}', e.entry ->> 'type') <> e.entry ->> 'type') LIMIT 1;
  IF FOUND THEN
    RAISE 'message % of session %: a user stores messages of the types human, ai and tool only', v_bad - 1, v.session_id
      USING ERRCODE = 'insufficient_privilege', HINT = 'The service stores messages of other types.';
  END IF;
  SELECT array_agg(n.id ORDER BY n.nr) AS id, array_agg(n.said ORDER BY n.nr) AS said, array_agg(n.role ORDER BY n.nr) AS role, array_agg(n.text ORDER BY n.nr) AS text,
    array_agg(n.entry::text ORDER BY n.nr) AS data, array_agg(NULL::text) AS plain, array_agg(n.terms::text ORDER BY n.nr) AS terms,
    array_agg(ARRAY(SELECT DISTINCT weft.mem_number('word', v_names[1], w) FROM unnest(n.terms) w)::text ORDER BY n.nr) AS words
  INTO v_new FROM (
    SELECT t.nr, t.entry, t.role, t.text, array_remove(regexp_split_to_array(lower(left(t.text, 16384)), '[^[:alnum:]]+'), '') AS terms,
      CASE WHEN octet_length(t.id) BETWEEN 1 AND 512 AND row_number() OVER (PARTITION BY t.id ORDER BY t.nr) = 1 AND t.id <> ALL (coalesce(v_ids, '{}'))
        THEN t.id ELSE gen_random_uuid()::text END AS id,
      substring(sha256(convert_to(t.role, 'UTF8') || '\x00'::bytea || convert_to(CASE t.text WHEN '' THEN t.entry::text ELSE t.text END, 'UTF8')) FROM 1 FOR 16) AS said
    FROM (SELECT e.nr, e.entry, weft.mem_role(e.entry) AS role,
        CASE weft.mem_role(e.entry) WHEN '' THEN '' ELSE weft.mem_spoken(e.entry #> '{data,content}') END AS text,
        CASE jsonb_typeof(e.entry #> '{data,id}') WHEN 'string' THEN e.entry #>> '{data,id}' END AS id
      FROM jsonb_array_elements(v.messages) WITH ORDINALITY AS e (entry, nr) WHERE e.nr > v_same) t) n;

  SELECT * INTO r FROM weft.mem_converse(
    ARRAY[weft.mem_number('weft memory', v_schema, v_names[1]), weft.mem_number('weft memory', v_schema, v_names[1], v_user)],
    weft.mem_digest(VARIADIC v_names), weft.mem_digest(v_user), v_names, v.session_id, '{}',
    weft.mem_digest(VARIADIC ARRAY['conversations'] || v_names || ARRAY[v.session_id]), 0, 0, NULL, TG_OP = 'DELETE', false, '', NULL, NULL,
    CASE WHEN TG_OP <> 'DELETE' AND v_same < v_count THEN v_same + 1 ELSE 0 END, false,
    v_new.id, v_new.said, v_new.role, v_new.text, v_new.data, v_new.plain, v_new.terms, v_new.words, true);
  IF r.o_status <> '' THEN
    RAISE 'session %: %', v.session_id, r.o_status USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  v.updated_at := r.o_updated;
  v.user_id := nullif(v_user, '');
  RETURN v;
END
$fn$;

-- get_conversation returns the messages of a session of one user, and [] if there is none.
CREATE OR REPLACE FUNCTION public.get_conversation(session_id text, user_id text DEFAULT NULL) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY INVOKER SET search_path = '' AS $fn$
DECLARE
  v_user constant text := nullif(weft.mem_caller(get_conversation.user_id, 'user_id'), '');
BEGIN
  RETURN coalesce((SELECT c.messages FROM public.agent_conversations c WHERE c.session_id = get_conversation.session_id
    AND c.user_id IS NOT DISTINCT FROM v_user ORDER BY c.updated_at DESC LIMIT 1), '[]');
END
$fn$;

-- save_conversation replaces the messages of a session of one user, and creates the session if it does not exist.
CREATE OR REPLACE FUNCTION public.save_conversation(session_id text, messages jsonb, user_id text DEFAULT NULL) RETURNS timestamptz
LANGUAGE plpgsql VOLATILE SECURITY INVOKER SET search_path = '' AS $fn$
DECLARE
  v_user constant text := nullif(weft.mem_caller(save_conversation.user_id, 'user_id'), '');
  v_updated timestamptz;
BEGIN
  INSERT INTO public.agent_conversations AS c (session_id, messages, user_id)
  VALUES (save_conversation.session_id, save_conversation.messages, v_user) RETURNING c.updated_at INTO v_updated;
  RETURN v_updated;
END
$fn$;

-- mem_check_chunk refuses large chunks before their words are split.
CREATE OR REPLACE FUNCTION weft.mem_check_chunk() RETURNS trigger LANGUAGE plpgsql SET search_path = '' AS $fn$
BEGIN
  IF octet_length(NEW.content) > 131072 THEN
    RAISE 'the content has % bytes, and 131072 are allowed', octet_length(NEW.content) USING ERRCODE = 'string_data_right_truncation';
  ELSIF octet_length(NEW.metadata::text) > 16384 THEN
    RAISE 'the metadata has % bytes, and 16384 are allowed', octet_length(NEW.metadata::text) USING ERRCODE = 'string_data_right_truncation';
  END IF;
  RETURN NEW;
END
$fn$;

-- mem_forget_user removes all that is remembered of a user in every tenant, and returns the number of removed facts, sessions,
-- values and chunks. What was said before and arrives later is refused.
CREATE OR REPLACE FUNCTION weft.mem_forget_user(p_user text) RETURNS bigint LANGUAGE plpgsql SET search_path = '' AS $fn$
DECLARE
  v_schema constant text := (parse_ident('weft'))[1];
  v_owner constant bytea := weft.mem_digest(p_user);
  v_names text[];
  v_shared bigint[];
  v_alone bigint;
  v_tenant text;
  v_shelves bigint[];
  v_count bigint;
  v_total bigint := 0;
BEGIN
  FOR v_tenant IN SELECT s.tenant FROM weft.mem_scope s WHERE s.user_id = p_user UNION SELECT s.tenant FROM weft.mem_session s WHERE s.user_id = p_user
    UNION SELECT s.tenant FROM weft.mem_value_scope s WHERE s.user_id = p_user UNION SELECT '' ORDER BY 1 LOOP
    v_names := ARRAY[v_tenant, '', p_user, ''];
    v_shared := ARRAY[weft.mem_number('weft memory', v_schema, v_tenant)];
    v_alone := weft.mem_number('weft memory', v_schema, v_tenant, p_user);
    v_total := v_total + weft.mem_forget(v_shared, v_alone, weft.mem_digest(VARIADIC v_names), v_owner, v_names)
      + weft.mem_hush(v_shared, v_alone, weft.mem_digest(VARIADIC ARRAY['conversations'] || v_names), v_owner, v_names)
      + weft.mem_clear(v_shared, v_alone, v_names);
  END LOOP;
  v_shelves := ARRAY(SELECT s.key FROM weft.mem_shelf s WHERE s.user_id = p_user ORDER BY s.key FOR UPDATE);
  DELETE FROM weft.mem_chunk WHERE shelf = ANY (v_shelves);
  GET DIAGNOSTICS v_count = ROW_COUNT;
  DELETE FROM weft.mem_source WHERE shelf = ANY (v_shelves);
  DELETE FROM weft.mem_shelf WHERE key = ANY (v_shelves);
  RETURN v_total + v_count;
END
$fn$;

-- forget_me removes all that is remembered of the user of the token. Plan and usage stay, because they belong to the service.
CREATE OR REPLACE FUNCTION public.forget_me() RETURNS bigint LANGUAGE plpgsql VOLATILE SECURITY INVOKER SET search_path = '' AS $fn$
BEGIN
  IF NOT row_security_active('weft.mem_scope') THEN
    RAISE 'forget_me is for users' USING ERRCODE = 'insufficient_privilege', HINT = 'The service calls forget_user(user_id).';
  END IF;
  RETURN weft.mem_forget_user(weft.mem_caller(NULL, ''));
END
$fn$;

-- forget_user removes all that is remembered of a user, with plan, usage and quota. Only the service calls it.
CREATE OR REPLACE FUNCTION public.forget_user(user_id text) RETURNS bigint LANGUAGE plpgsql VOLATILE SECURITY INVOKER SET search_path = '' AS $fn$
BEGIN
  IF row_security_active('weft.mem_scope') THEN
    RAISE 'forget_user is for the service' USING ERRCODE = 'insufficient_privilege', HINT = 'A user calls forget_me().';
  ELSIF coalesce(forget_user.user_id, '') = '' THEN
    RAISE 'the service has to name the user' USING ERRCODE = 'null_value_not_allowed', HINT = 'Pass user_id: the id of the user.';
  END IF;
  DELETE FROM weft.mem_quota q WHERE q.user_id = forget_user.user_id;
  RETURN weft.mem_forget_user(forget_user.user_id);
END
$fn$;

DO $do$ BEGIN
  IF to_regclass('public.user_quota') IS NULL THEN
    CREATE VIEW public.user_quota WITH (security_invoker = true) AS SELECT q.user_id, q.max_facts, q.max_messages, q.max_chunks, q.max_values FROM weft.mem_quota q;
    REVOKE ALL ON public.user_quota FROM PUBLIC, anon, authenticated;
    GRANT SELECT ON public.user_quota TO authenticated;
    GRANT SELECT, INSERT, UPDATE, DELETE ON public.user_quota TO service_role;
  END IF;
  -- The triggers of a view run in the order of their names: before_write, then write.
  IF EXISTS (SELECT FROM pg_trigger WHERE tgrelid = to_regclass('public.knowledge_chunks') AND tgname = 'write')
  AND NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = to_regclass('public.knowledge_chunks') AND tgname = 'before_write') THEN
    CREATE TRIGGER before_write INSTEAD OF INSERT OR UPDATE ON public.knowledge_chunks FOR EACH ROW EXECUTE FUNCTION weft.mem_check_chunk();
  END IF;
  -- Plan and usage of a user are written by the service. A table of another program has its own grants.
  IF EXISTS (SELECT FROM pg_trigger WHERE tgrelid = to_regclass('public.user_context') AND tgname = 'write')
  AND has_column_privilege('authenticated', 'public.user_context', 'plan', 'UPDATE') THEN
    REVOKE INSERT, UPDATE ON public.user_context FROM authenticated;
    GRANT INSERT (user_id, preferences, tenant_id, workspace_id, agent_id), UPDATE (preferences) ON public.user_context TO authenticated;
  END IF;
END $do$;

DO $do$
DECLARE
  r record;
BEGIN
  FOR r IN SELECT p.oid::regprocedure AS f, p.proname <> 'forget_user' AS users FROM pg_proc p
    WHERE p.pronamespace = 'weft'::regnamespace AND p.proname IN ('mem_caller', 'mem_check_chunk', 'mem_forget_user')
    OR p.oid IN ('public.match_knowledge(vector, int, text, text, text)'::regprocedure, 'public.forget_me()'::regprocedure, 'public.forget_user(text)'::regprocedure) LOOP
    EXECUTE 'REVOKE ALL ON FUNCTION ' || r.f || ' FROM PUBLIC, anon, authenticated';
    EXECUTE 'GRANT EXECUTE ON FUNCTION ' || r.f || ' TO service_role' || CASE WHEN r.users THEN ', authenticated' ELSE '' END;
  END LOOP;
END
$do$;
$script$;
END $once$;
