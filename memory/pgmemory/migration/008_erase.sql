SELECT set_config('search_path', (SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
  WHERE e.extname = 'vector'), true);

-- A change may erase a fact with its history.

-- mem_apply does changes in a scope, all or none. A refusal is a row with a status, and
-- fails no transaction around it.
CREATE OR REPLACE FUNCTION weft.mem_apply(
  p_lock bigint[], p_digest bytea, p_names text[], p_around bytea[], p_job text, p_most bigint, p_bulk boolean,
  p_does text[], p_id text[], p_version bigint[], p_actor text[], p_heard timestamptz[], p_instead text[],
  p_kind text[], p_content text[], p_said bytea[], p_raw bytea[], p_metadata text[], p_conversation text[], p_turn bigint[],
  p_trust int[], p_importance float8[], p_from timestamptz[], p_to timestamptz[], p_by text[], p_expires timestamptz[],
  p_terms text[], p_words text[], p_model text[], p_space bigint[], p_vector text[])
RETURNS TABLE (o_id text, o_existed boolean, o_status text, o_change int, o_about text)
LANGUAGE plpgsql SET search_path FROM CURRENT AS $fn$
#variable_conflict use_column
DECLARE
  v_scope bigint;
  v_now timestamptz;
  v_forgotten timestamptz;
  v_added boolean := false;
  v_same bigint;
  v_same_id uuid;
  v_floor timestamptz;
  v_key bigint;
  r record;
  f record;
  v_other text;
BEGIN
  SELECT e.scope, e.now INTO v_scope, v_now FROM weft.mem_enter(p_lock, p_digest, p_names) e;
  IF p_job <> '' THEN
    INSERT INTO weft.mem_job (scope, at, job) VALUES (v_scope, v_now, p_job) ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
      RETURN QUERY SELECT '', false, '', 0, '' FROM unnest(p_does);
      RETURN;
    END IF;
    DELETE FROM weft.mem_job WHERE scope = v_scope AND at < v_now - interval '60 days';
  END IF;
  SELECT max(t.at) INTO v_forgotten FROM weft.mem_forgotten t WHERE t.scope = ANY (p_around)
    AND t.owner IN (weft.mem_digest(p_names[3]), weft.mem_digest('')); -- and not what others say of this scope

  IF p_bulk AND NOT EXISTS (SELECT FROM unnest(p_heard) h WHERE h <= v_forgotten)
  AND NOT EXISTS (SELECT FROM weft.mem_fact o WHERE o.scope = v_scope AND o.id = ANY (p_id::uuid[]))
  AND NOT EXISTS (SELECT FROM unnest(p_said) AS g (said) JOIN weft.mem_fact o ON o.scope = v_scope AND o.said = g.said) THEN
    RETURN QUERY
    WITH given AS MATERIALIZED (
      SELECT * FROM unnest(p_id::uuid[], p_actor, p_kind, p_content, p_said, p_raw, p_metadata, p_conversation, p_turn, p_trust,
        p_importance, p_from, p_to, p_by, p_expires, p_terms, p_words, p_model, p_space, p_vector) WITH ORDINALITY AS g (id, actor, kind, content, said, raw,
        metadata, conversation, turn, trust, importance, valid_from, valid_to, superseded_by, expires_at, terms, words, model, space, embedding, nr)
    ), stored AS (
      INSERT INTO weft.mem_fact (scope, id, kind, content, said, raw, metadata, conversation, turn, trust, importance, valid_from, valid_to,
        superseded_by, expires_at, created_at, updated_at, version, terms, words, word_count, model, space, embedding)
      SELECT v_scope, g.id, g.kind, g.content, g.said, g.raw, g.metadata::jsonb, g.conversation, g.turn, g.trust, g.importance,
        coalesce(g.valid_from, v_now), g.valid_to, g.superseded_by, g.expires_at, v_now, v_now, 1,
        g.terms::text[], g.words::bigint[], cardinality(g.terms::text[]), g.model, g.space, g.embedding::vector
      FROM given g ORDER BY g.nr
    ), noted AS (
      INSERT INTO weft.mem_event (scope, fact, at, kind, was, became, actor)
      SELECT v_scope, g.id, v_now, 'add', '', g.content, g.actor FROM given g ORDER BY g.nr
    )
    SELECT g.id::text, false, '', 0, '' FROM given g ORDER BY g.nr;
    v_added := true;
  ELSE
  FOR r IN SELECT * FROM unnest(p_does, p_id::uuid[], p_version, p_actor, p_heard, p_instead, p_kind, p_content, p_said, p_raw, p_metadata,
    p_conversation, p_turn, p_trust, p_importance, p_from, p_to, p_by, p_expires, p_terms, p_words, p_model, p_space, p_vector)
    WITH ORDINALITY AS g (does, id, version, actor, heard, instead, kind, content, said, raw, metadata, conversation, turn, trust, importance,
      valid_from, valid_to, superseded_by, expires_at, terms, words, model, space, embedding, nr)
  LOOP
    o_id := r.id;
    o_existed := true;
    o_status := '';
    o_change := r.nr - 1;
    o_about := r.id;
    IF r.heard <= v_forgotten THEN
      RAISE SQLSTATE 'WM000' USING MESSAGE = 'forgotten', DETAIL = r.nr - 1;
    END IF;
    IF r.does <> 'add' THEN
      SELECT o.key, o.version, o.kind, o.valid_from, o.valid_to, o.content INTO f FROM weft.mem_fact o WHERE o.scope = v_scope AND o.id = r.id;
      IF NOT FOUND THEN
        RAISE SQLSTATE 'WM000' USING MESSAGE = 'missing', DETAIL = r.nr - 1, HINT = r.id;
      ELSIF r.version <> 0 AND r.version <> f.version THEN
        RAISE SQLSTATE 'WM000' USING MESSAGE = 'version', DETAIL = r.nr - 1, HINT = f.version;
      END IF;
    END IF;
    CASE r.does
    WHEN 'delete' THEN
      PERFORM weft.mem_drop(f.key, r.actor, v_now);
    WHEN 'erase' THEN
      DELETE FROM weft.mem_event WHERE scope = v_scope AND fact = r.id;
      DELETE FROM weft.mem_fact WHERE key = f.key;
    WHEN 'close' THEN
      PERFORM weft.mem_close(f.key, coalesce(r.valid_to, v_now), '', r.actor, v_now);
    WHEN 'embed' THEN
      UPDATE weft.mem_fact SET terms = r.terms::text[], words = r.words::bigint[], word_count = cardinality(r.terms::text[]),
        model = r.model, space = r.space, embedding = r.embedding::vector WHERE key = f.key;
    WHEN 'update' THEN
      SELECT s.id INTO v_same_id FROM weft.mem_repeated(v_scope, r.id, f.kind, r.said, r.content, r.trust, f.valid_from, f.valid_to, v_now) s
      JOIN weft.mem_fact o ON o.key = s.key WHERE coalesce(o.valid_to > v_now, true);
      IF FOUND AND coalesce(f.valid_to > v_now, true) THEN
        RAISE SQLSTATE 'WM000' USING MESSAGE = 'said', DETAIL = r.nr - 1, HINT = v_same_id;
      END IF;
      UPDATE weft.mem_fact SET content = r.content, said = r.said, raw = r.raw, metadata = r.metadata::jsonb, importance = r.importance,
        trust = r.trust, expires_at = r.expires_at, updated_at = v_now, version = f.version + 1, terms = r.terms::text[],
        words = r.words::bigint[], word_count = cardinality(r.terms::text[]), model = r.model, space = r.space,
        embedding = r.embedding::vector WHERE key = f.key;
      INSERT INTO weft.mem_event (scope, fact, at, kind, was, became, actor)
      VALUES (v_scope, r.id, v_now, 'update', f.content, r.content, r.actor);
    ELSE
      SELECT o.key, o.expires_at, o.valid_from, o.valid_to, o.superseded_by, o.kind = r.kind AND (o.trust >= 2) = (r.trust >= 2)
        AND weft.mem_visible(o.content) = weft.mem_visible(r.content) AS same
        INTO f FROM weft.mem_fact o WHERE o.scope = v_scope AND o.id = r.id;
      IF f.expires_at <= v_now THEN -- it goes, as if it had been swept
        PERFORM weft.mem_drop(f.key, 'expired', v_now);
        f.key := NULL;
      END IF;
      IF NOT f.same AND f.key IS NOT NULL THEN
        RAISE SQLSTATE 'WM000' USING MESSAGE = 'taken', DETAIL = r.nr - 1, HINT = r.id;
      ELSIF f.key IS NOT NULL THEN
        IF weft.mem_overlaps(f.valid_from, f.valid_to, coalesce(r.valid_from, v_now), r.valid_to)
        AND (f.superseded_by = '' OR weft.mem_valid(f.valid_from, f.valid_to, v_now)) THEN
          PERFORM weft.mem_join(f.key, coalesce(r.valid_from, v_now), r.valid_to, r.expires_at, NULL, r.actor, v_now);
        END IF;
      ELSE
        SELECT s.key, s.id, s.floor INTO v_same, v_same_id, v_floor
        FROM weft.mem_repeated(v_scope, r.id, r.kind, r.said, r.content, r.trust, coalesce(r.valid_from, v_now), r.valid_to, v_now) s;
        IF v_same_id IS NOT NULL THEN
          o_id := v_same_id;
        END IF;
        FOREACH v_other IN ARRAY string_to_array(r.instead, ',') LOOP
          CONTINUE WHEN v_other::uuid = v_same_id;
          SELECT o.key, o.valid_to INTO f FROM weft.mem_fact o WHERE o.scope = v_scope AND o.id = v_other::uuid;
          IF NOT FOUND THEN
            RAISE SQLSTATE 'WM000' USING MESSAGE = 'missing', DETAIL = r.nr - 1, HINT = v_other;
          ELSIF f.valid_to <= coalesce(r.valid_from, v_now) THEN
            RAISE SQLSTATE 'WM000' USING MESSAGE = 'closed', DETAIL = r.nr - 1, HINT = v_other;
          END IF;
          PERFORM weft.mem_close(f.key, coalesce(r.valid_from, v_now), o_id, o_id, v_now);
        END LOOP;
        IF v_same_id IS NOT NULL THEN
          PERFORM weft.mem_join(v_same, coalesce(r.valid_from, v_now), r.valid_to, r.expires_at, v_floor, r.actor, v_now);
        ELSE
          o_existed := false;
          v_added := true;
          INSERT INTO weft.mem_fact (scope, id, kind, content, said, raw, metadata, conversation, turn, trust, importance, valid_from, valid_to,
            superseded_by, expires_at, created_at, updated_at, version, terms, words, word_count, model, space, embedding)
          VALUES (v_scope, r.id, r.kind, r.content, r.said, r.raw, r.metadata::jsonb, r.conversation, r.turn, r.trust, r.importance,
            coalesce(r.valid_from, v_now), r.valid_to, r.superseded_by, r.expires_at, v_now, v_now, 1,
            r.terms::text[], r.words::bigint[], cardinality(r.terms::text[]), r.model, r.space, r.embedding::vector);
          INSERT INTO weft.mem_event (scope, fact, at, kind, was, became, actor)
          VALUES (v_scope, r.id, v_now, 'add', '', r.content, r.actor);
        END IF;
      END IF;
    END CASE;
    RETURN NEXT;
  END LOOP;
  END IF;
  IF v_added AND p_most > 0 THEN
    SELECT count(*) INTO v_key FROM (SELECT FROM weft.mem_fact o WHERE o.scope = v_scope AND coalesce(o.valid_to > v_now, true)
      LIMIT p_most + 1) c;
    IF v_key > p_most THEN
      RAISE SQLSTATE 'WM000' USING MESSAGE = 'quota', DETAIL = 0;
    END IF;
  END IF;
  UPDATE weft.mem_scope SET newest = v_now WHERE key = v_scope;
EXCEPTION WHEN SQLSTATE 'WM000' THEN -- which takes back all that was done
  GET STACKED DIAGNOSTICS o_status = MESSAGE_TEXT, v_other = PG_EXCEPTION_DETAIL, o_about = PG_EXCEPTION_HINT;
  o_id := '';
  o_existed := false;
  o_change := v_other::int;
  RETURN NEXT;
END
$fn$;
