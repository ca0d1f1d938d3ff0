-- Conversations as a table and two functions in schema public, for programs in other languages: a row a session, with
-- all of its messages as LangChain stores them. They work with the rights of who asks, so that the policies hold. Every
-- statement can be run again. A table of the name that the project has already stays as it is.

-- mem_role returns the role of a message by its type in LangChain: none of a type that nobody here knows, which is kept and
-- never shown, and null for what can not be read.
CREATE OR REPLACE FUNCTION weft.mem_role(p_entry jsonb) RETURNS text LANGUAGE sql IMMUTABLE SET search_path = '' AS $fn$
  WITH named AS (SELECT CASE WHEN p_entry ->> 'type' IN ('chat', 'generic', 'ChatMessageChunk')
    THEN coalesce(p_entry #>> '{data,role}', 'user') ELSE p_entry ->> 'type' END AS name, p_entry ->> 'type' IN ('chat', 'generic', 'ChatMessageChunk') AS any_name)
  SELECT CASE
    WHEN coalesce(jsonb_typeof(p_entry -> 'type'), '') <> 'string' OR p_entry ->> 'type' IN ('', 'remove') THEN NULL
    WHEN NOT any_name AND name NOT IN ('system', 'SystemMessageChunk', 'developer', 'ai', 'AIMessageChunk', 'assistant', 'model', 'human', 'HumanMessageChunk', 'user',
      'function', 'FunctionMessageChunk', 'tool', 'ToolMessageChunk') THEN ''
    WHEN jsonb_typeof(p_entry -> 'data') IS DISTINCT FROM 'object' OR coalesce(jsonb_typeof(p_entry #> '{data,content}'), 'null') NOT IN ('string', 'array', 'null') THEN NULL
    WHEN name IN ('system', 'SystemMessageChunk', 'developer') THEN 'system'
    WHEN name IN ('ai', 'AIMessageChunk', 'assistant', 'model') THEN 'assistant'
    WHEN any_name OR name IN ('human', 'HumanMessageChunk', 'user') THEN 'user'
    WHEN name IN ('function', 'FunctionMessageChunk') OR name IN ('tool', 'ToolMessageChunk') AND p_entry #>> '{data,tool_call_id}' <> '' THEN 'tool'
  END FROM named
$fn$;

-- mem_spoken returns what a message says.
CREATE OR REPLACE FUNCTION weft.mem_spoken(p_content jsonb) RETURNS text LANGUAGE sql IMMUTABLE SET search_path = '' AS $fn$
  SELECT CASE jsonb_typeof(p_content) WHEN 'string' THEN p_content #>> '{}' WHEN 'array' THEN (SELECT coalesce(string_agg(
    CASE WHEN jsonb_typeof(b.block) = 'string' THEN b.block #>> '{}' WHEN b.block ->> 'type' = 'text' THEN coalesce(b.block ->> 'text', '') ELSE '' END, '' ORDER BY b.nr), '')
    FROM jsonb_array_elements(p_content) WITH ORDINALITY AS b (block, nr)) ELSE '' END
$fn$;

DO $do$ BEGIN
  IF to_regclass('public.agent_conversations') IS NULL THEN
    CREATE VIEW public.agent_conversations WITH (security_invoker = true) AS
    SELECT s.id AS session_id,
      (SELECT coalesce(jsonb_agg(coalesce(m.plain, m.data::jsonb) ORDER BY m.position), '[]') FROM weft.mem_message m WHERE m.session = s.key) AS messages,
      s.updated_at, nullif(s.user_id, '') AS user_id, nullif(s.tenant, '') AS tenant_id, nullif(s.workspace, '') AS workspace_id, nullif(s.agent, '') AS agent_id
    FROM weft.mem_session s;
  END IF;
END $do$;
CREATE INDEX IF NOT EXISTS mem_session_name ON weft.mem_session (id); -- by which others ask for a session

-- mem_talk makes a session what a row says. To insert one that is there is to update it, and messages with
-- which both begin stay as they are. What is written by SQL is found by its words as they are written, until a program
-- searches that knows how words are told apart.
CREATE OR REPLACE FUNCTION weft.mem_talk() RETURNS trigger LANGUAGE plpgsql SET search_path = '' AS $fn$
DECLARE
  v_schema constant text := (parse_ident(TG_ARGV[0]))[1];
  v record;
  v_names text[];
  v_users text[];
  v_user text;
  v_was text; -- whose the session is
  v_session bigint;
  v_count bigint := 0;
  v_same bigint := 0;
  v_null constant boolean := TG_OP <> 'DELETE' AND NEW.messages IS NULL;
  v_ids text[];
  v_new record;
  r record;
BEGIN
  IF TG_OP = 'DELETE' THEN v := OLD; ELSE v := NEW; END IF;
  IF TG_OP = 'UPDATE' AND (NEW.session_id, NEW.tenant_id, NEW.workspace_id, NEW.agent_id) IS DISTINCT FROM (OLD.session_id, OLD.tenant_id, OLD.workspace_id, OLD.agent_id)
    OR TG_OP = 'UPDATE' AND NEW.user_id <> OLD.user_id THEN
    RAISE 'of session %, the messages can be changed alone', OLD.session_id USING ERRCODE = 'feature_not_supported';
  ELSIF coalesce(v.session_id, '') = '' OR octet_length(v.session_id) > 512 THEN
    RAISE 'a session id has 1 to 512 bytes' USING ERRCODE = 'not_null_violation';
  END IF;
  v.messages := coalesce(v.messages, '[]');
  IF jsonb_typeof(v.messages) <> 'array' OR jsonb_array_length(v.messages) > 10000 THEN
    RAISE 'the messages of session % are no array of at most 10000', v.session_id USING ERRCODE = 'invalid_parameter_value';
  END IF;
  SELECT e.nr - 1 INTO v_count FROM jsonb_array_elements(v.messages) WITH ORDINALITY AS e (entry, nr)
    WHERE TG_OP <> 'DELETE' AND weft.mem_role(e.entry) IS NULL LIMIT 1;
  IF FOUND THEN
    RAISE 'message % of session % is none of LangChain''s', v_count, v.session_id USING ERRCODE = 'invalid_parameter_value',
      HINT = 'Messages are as messages_to_dict writes them: {"type": "human", "data": {"content": "..."}}';
  END IF;

  -- A session that is nobody's becomes the user's who is named. It does not go from one user to another.
  v_user := coalesce(v.user_id, auth.uid()::text);
  IF TG_OP = 'INSERT' THEN
    SELECT array_agg(s.user_id ORDER BY s.user_id) INTO v_users FROM weft.mem_session s
    WHERE s.id = v.session_id AND s.tenant = coalesce(v.tenant_id, '') AND s.workspace = coalesce(v.workspace_id, '') AND s.agent = coalesce(v.agent_id, '');
    v_was := CASE WHEN v_user = ANY (v_users) THEN v_user WHEN v_users[1] = '' OR v_user IS NULL AND cardinality(v_users) = 1 THEN v_users[1] END;
    IF v_was IS NULL AND v_users IS NOT NULL THEN
      RAISE 'session % is another user''s', v.session_id USING ERRCODE = 'unique_violation';
    END IF;
  ELSE
    v_was := coalesce(OLD.user_id, '');
  END IF;
  v_user := coalesce(CASE WHEN TG_OP = 'DELETE' THEN v_was WHEN v_was <> '' THEN v_was END, v_user, '');
  v_names := ARRAY[coalesce(v.tenant_id, ''), coalesce(v.workspace_id, ''), v_user, coalesce(v.agent_id, '')];
  PERFORM pg_advisory_xact_lock_shared(k) FROM unnest(ARRAY[weft.mem_number('weft memory', v_schema, v_names[1]),
    weft.mem_number('weft memory', v_schema, v_names[1], v_user)]) AS k;
  IF v_was = '' AND v_user <> '' THEN
    UPDATE weft.mem_session SET user_id = v_user, owner = weft.mem_digest(v_user), digest = weft.mem_digest(VARIADIC v_names)
    WHERE digest = weft.mem_digest(v_names[1], v_names[2], '', v_names[4]) AND id = v.session_id;
  END IF;

  -- What both begin with stays, and so do its ids.
  v_count := 0;
  SELECT s.key, s.messages INTO v_session, v_count FROM weft.mem_session s WHERE s.digest = weft.mem_digest(VARIADIC v_names) AND s.id = v.session_id FOR UPDATE;
  IF v_null AND v_session IS NOT NULL THEN
    RAISE 'the messages of session % are null', v.session_id USING ERRCODE = 'not_null_violation', HINT = 'A session without messages has an empty array.';
  END IF;
  SELECT count(*), array_agg(m.id) INTO v_same, v_ids FROM (
    SELECT m.id, bool_and(coalesce(m.plain, m.data::jsonb) = e.entry) OVER (ORDER BY m.position) AS same
    FROM weft.mem_message m JOIN jsonb_array_elements(v.messages) WITH ORDINALITY AS e (entry, nr) ON e.nr = m.position
    WHERE m.session = v_session) m WHERE m.same;
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

DO $do$ BEGIN
  IF EXISTS (SELECT FROM pg_class WHERE oid = to_regclass('public.agent_conversations') AND relkind = 'v')
  AND NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = 'public.agent_conversations'::regclass AND tgname = 'write') THEN
    CREATE TRIGGER write INSTEAD OF INSERT OR UPDATE OR DELETE ON public.agent_conversations FOR EACH ROW EXECUTE FUNCTION weft.mem_talk('weft');
    REVOKE ALL ON public.agent_conversations FROM PUBLIC, anon, authenticated;
    GRANT SELECT, INSERT, UPDATE, DELETE ON public.agent_conversations TO authenticated, service_role;
  END IF;
END $do$;

-- get_conversation returns the messages of a session: none of one that is not there.
CREATE OR REPLACE FUNCTION public.get_conversation(session_id text, user_id text DEFAULT NULL) RETURNS jsonb
LANGUAGE sql STABLE SECURITY INVOKER SET search_path = '' AS $fn$
  SELECT coalesce((SELECT c.messages FROM public.agent_conversations c WHERE c.session_id = get_conversation.session_id
    AND (get_conversation.user_id IS NULL OR c.user_id = get_conversation.user_id) ORDER BY c.updated_at DESC LIMIT 1), '[]')
$fn$;

-- save_conversation makes the messages of a session those of an array, and the session if it is not there. As a
-- statement can not have ON CONFLICT (session_id) on a view, this is what it would do; so is a plain INSERT.
CREATE OR REPLACE FUNCTION public.save_conversation(session_id text, messages jsonb, user_id text DEFAULT NULL) RETURNS timestamptz
LANGUAGE sql VOLATILE SECURITY INVOKER SET search_path = '' AS $fn$
  INSERT INTO public.agent_conversations (session_id, messages, user_id)
  VALUES (save_conversation.session_id, save_conversation.messages, save_conversation.user_id) RETURNING updated_at
$fn$;

REVOKE ALL ON FUNCTION weft.mem_role(jsonb), weft.mem_spoken(jsonb), weft.mem_talk(), public.get_conversation(text, text), public.save_conversation(text, jsonb, text)
  FROM PUBLIC, anon;
GRANT EXECUTE ON FUNCTION weft.mem_role(jsonb), weft.mem_spoken(jsonb), weft.mem_talk(), public.get_conversation(text, text),
  public.save_conversation(text, jsonb, text) TO authenticated, service_role;
