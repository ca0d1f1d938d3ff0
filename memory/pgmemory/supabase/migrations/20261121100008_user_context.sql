-- What is known of users as a table in schema public, for programs in other languages: a row a user, with plan, usage and
-- preferences. It works with the rights of who asks, so that the policies hold. Every statement can be run again. A
-- table of the name that the project has already stays as it is. The dot in the name of the namespace is written so that
-- it is not taken for that of the schema.

DO $do$ BEGIN
  IF to_regclass('public.user_context') IS NULL THEN
    CREATE VIEW public.user_context WITH (security_invoker = true) AS
    SELECT s.user_id, v.value ->> 'plan' AS plan, v.value -> 'usage' AS usage, v.value -> 'preferences' AS preferences, v.updated_at,
      nullif(s.tenant, '') AS tenant_id, nullif(s.workspace, '') AS workspace_id, nullif(s.agent, '') AS agent_id
    FROM weft.mem_value v JOIN weft.mem_value_scope s ON s.key = v.scope
    WHERE s.user_id <> '' AND v.namespace = ARRAY[E'weft\x2eprofile'] AND v.name = 'context' AND (v.expires_at IS NULL OR v.expires_at > now());
  END IF;
END $do$;

-- mem_know changes what is known of a user by a row. To insert one that is there is to update what is not null; what
-- else the document has stays.
CREATE OR REPLACE FUNCTION weft.mem_know() RETURNS trigger LANGUAGE plpgsql SET search_path = '' AS $fn$
DECLARE
  v_schema constant text := (parse_ident(TG_ARGV[0]))[1];
  v record;
  v_names text[];
  v_lock bigint[];
  v_set jsonb := '{}';
  v_gone text[] := '{}';
  v_value jsonb;
  v_version bigint;
  r record;
BEGIN
  IF TG_OP = 'DELETE' THEN v := OLD; ELSE v := NEW; END IF;
  IF TG_OP = 'INSERT' THEN
    v.user_id := coalesce(v.user_id, auth.uid()::text);
  ELSIF TG_OP = 'UPDATE' AND (NEW.user_id, NEW.tenant_id, NEW.workspace_id, NEW.agent_id) IS DISTINCT FROM (OLD.user_id, OLD.tenant_id, OLD.workspace_id, OLD.agent_id) THEN
    RAISE 'of user %, plan, usage and preferences can be changed alone', OLD.user_id USING ERRCODE = 'feature_not_supported';
  END IF;
  IF coalesce(v.user_id, '') = '' OR octet_length(v.user_id) > 512 THEN
    RAISE 'a user id has 1 to 512 bytes' USING ERRCODE = 'not_null_violation';
  END IF;
  v_names := ARRAY[coalesce(v.tenant_id, ''), coalesce(v.workspace_id, ''), v.user_id, coalesce(v.agent_id, '')];
  v_lock := ARRAY[weft.mem_number('weft memory', v_schema, v_names[1]), weft.mem_number('weft memory', v_schema, v_names[1], v.user_id)];

  -- The lock of the scope is that of mem_put, so that nothing is lost between here and there.
  PERFORM pg_advisory_xact_lock_shared(k) FROM unnest(v_lock) AS k;
  PERFORM FROM weft.mem_value_scope s WHERE s.digest = weft.mem_digest(VARIADIC v_names) FOR UPDATE;
  SELECT o.value, o.version INTO v_value, v_version FROM weft.mem_value o JOIN weft.mem_value_scope s ON s.key = o.scope
  WHERE s.digest = weft.mem_digest(VARIADIC v_names) AND o.namespace = ARRAY[E'weft\x2eprofile'] AND o.name = 'context'
    AND (o.expires_at IS NULL OR o.expires_at > clock_timestamp());
  IF TG_OP <> 'DELETE' THEN
    v_set := jsonb_strip_nulls(jsonb_build_object('plan', v.plan))
      || CASE WHEN jsonb_typeof(v.usage) <> 'null' THEN jsonb_build_object('usage', v.usage) ELSE '{}' END
      || CASE WHEN jsonb_typeof(v.preferences) <> 'null' THEN jsonb_build_object('preferences', v.preferences) ELSE '{}' END;
    IF TG_OP = 'UPDATE' THEN
      v_gone := ARRAY['plan', 'usage', 'preferences'];
    END IF;
    v_value := (coalesce(v_value, '{}') - v_gone) || v_set;
    IF octet_length(v_value::text) > 65536 THEN
      RAISE 'of user %, more than 65536 bytes', v.user_id USING ERRCODE = 'program_limit_exceeded';
    END IF;
  END IF;
  SELECT * INTO r FROM weft.mem_put(v_lock, weft.mem_digest(VARIADIC v_names), v_names, 0, ARRAY[E'{weft\x2eprofile}'], ARRAY['context'],
    ARRAY[coalesce(v_version, -1)], ARRAY[CASE WHEN TG_OP <> 'DELETE' THEN v_value::text END], ARRAY[CASE WHEN TG_OP <> 'DELETE' THEN v_value::text END],
    ARRAY[NULL::bigint], ARRAY[false], ARRAY['{}'], ARRAY['{}'], ARRAY[''], ARRAY[NULL::bigint], ARRAY[NULL::text]);
  IF r.o_status <> '' THEN
    RAISE 'of user %: somebody else has changed what is known', v.user_id USING ERRCODE = 'serialization_failure';
  END IF;
  IF TG_OP <> 'DELETE' THEN
    v.plan := v_value ->> 'plan';
    v.usage := v_value -> 'usage';
    v.preferences := v_value -> 'preferences';
    v.updated_at := r.o_updated;
  END IF;
  RETURN v;
END
$fn$;

DO $do$ BEGIN
  IF EXISTS (SELECT FROM pg_class WHERE oid = to_regclass('public.user_context') AND relkind = 'v')
  AND NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = 'public.user_context'::regclass AND tgname = 'write') THEN
    CREATE TRIGGER write INSTEAD OF INSERT OR UPDATE OR DELETE ON public.user_context FOR EACH ROW EXECUTE FUNCTION weft.mem_know('weft');
    REVOKE ALL ON public.user_context FROM PUBLIC, anon, authenticated;
    GRANT SELECT, INSERT, UPDATE, DELETE ON public.user_context TO authenticated, service_role;
  END IF;
END $do$;

REVOKE ALL ON FUNCTION weft.mem_know() FROM PUBLIC, anon;
GRANT EXECUTE ON FUNCTION weft.mem_know() TO authenticated, service_role;
