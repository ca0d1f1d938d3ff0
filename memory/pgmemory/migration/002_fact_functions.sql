SELECT set_config('search_path', (SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
  WHERE e.extname = 'vector'), true);

-- mem_drop removes a fact, and notes who did.
CREATE OR REPLACE FUNCTION weft.mem_drop(p_key bigint, p_actor text, p_now timestamptz) RETURNS void
LANGUAGE sql SET search_path = '' AS $fn$
  WITH gone AS (DELETE FROM weft.mem_fact WHERE key = p_key RETURNING scope, id, content)
  INSERT INTO weft.mem_event (scope, fact, at, kind, was, became, actor) SELECT scope, id, p_now, 'delete', content, '', p_actor FROM gone
$fn$;

-- mem_close ends the validity of a fact, not before it began. One that has ended keeps the earlier end.
CREATE OR REPLACE FUNCTION weft.mem_close(p_key bigint, p_at timestamptz, p_by text, p_actor text, p_now timestamptz) RETURNS void
LANGUAGE sql SET search_path = '' AS $fn$
  WITH closed AS (UPDATE weft.mem_fact SET valid_to = least(valid_to, greatest(p_at, valid_from)), updated_at = p_now, version = version + 1,
    superseded_by = CASE WHEN p_by = '' THEN superseded_by ELSE p_by END WHERE key = p_key RETURNING scope, id, content)
  INSERT INTO weft.mem_event (scope, fact, at, kind, was, became, actor) SELECT scope, id, p_now, 'close', content, '', p_actor FROM closed
$fn$;

-- mem_extend makes a fact hold for as long as what says the same, if that is longer.
CREATE OR REPLACE FUNCTION weft.mem_extend(p_key bigint, p_from timestamptz, p_expires timestamptz, p_actor text, p_now timestamptz) RETURNS void
LANGUAGE sql SET search_path = '' AS $fn$
  WITH longer AS (UPDATE weft.mem_fact SET valid_from = least(valid_from, p_from),
    expires_at = CASE WHEN p_expires IS NOT NULL AND expires_at IS NOT NULL THEN greatest(expires_at, p_expires) END,
    updated_at = p_now, version = version + 1
    WHERE key = p_key AND (p_from < valid_from OR expires_at < coalesce(p_expires, 'infinity')) RETURNING scope, id, content)
  INSERT INTO weft.mem_event (scope, fact, at, kind, was, became, actor) SELECT scope, id, p_now, 'update', content, content, p_actor FROM longer
$fn$;

-- mem_enter locks a scope, and everything that is forgotten with it against being so. It
-- returns its key, and a time behind all that was done in it.
CREATE OR REPLACE FUNCTION weft.mem_enter(p_lock bigint[], p_digest bytea, p_names text[], OUT scope bigint, OUT now timestamptz)
LANGUAGE plpgsql SET search_path = '' AS $fn$
BEGIN
  PERFORM pg_advisory_xact_lock_shared(k) FROM unnest(p_lock) AS k;
  SELECT s.key, s.newest INTO scope, now FROM weft.mem_scope s WHERE s.digest = p_digest FOR UPDATE;
  IF scope IS NULL THEN
    INSERT INTO weft.mem_scope (digest, tenant, workspace, user_id, agent, newest)
    VALUES (p_digest, p_names[1], p_names[2], p_names[3], p_names[4], '-infinity') ON CONFLICT (digest) DO NOTHING;
    SELECT s.key, s.newest INTO scope, now FROM weft.mem_scope s WHERE s.digest = p_digest FOR UPDATE;
  END IF;
  now := greatest(clock_timestamp(), now + interval '1 microsecond');
END
$fn$;

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
  AND NOT EXISTS (SELECT FROM weft.mem_fact o WHERE o.scope = v_scope AND o.valid_to IS NULL AND o.expires_at <= v_now)
  AND NOT EXISTS (SELECT FROM weft.mem_fact o WHERE o.scope = v_scope AND o.id = ANY (p_id::uuid[]))
  AND NOT EXISTS (SELECT FROM unnest(p_kind, p_said, p_trust, p_from, p_to, p_expires) AS g (kind, said, trust, valid_from, valid_to, expires_at)
    WHERE g.valid_to IS NULL AND (SELECT coalesce(g.valid_from, v_now) < o.valid_from OR o.expires_at < coalesce(g.expires_at, 'infinity')
      FROM weft.mem_fact o WHERE o.scope = v_scope AND o.kind = g.kind AND o.said = g.said AND (o.trust >= 2) = (g.trust >= 2)
      AND o.valid_to IS NULL)) THEN
    RETURN QUERY
    WITH given AS MATERIALIZED (
      SELECT * FROM unnest(p_id::uuid[], p_actor, p_kind, p_content, p_said, p_raw, p_metadata, p_conversation, p_turn, p_trust,
        p_importance, p_from, p_to, p_by, p_expires, p_terms, p_words, p_model, p_space, p_vector) WITH ORDINALITY AS g (id, actor, kind, content, said, raw,
        metadata, conversation, turn, trust, importance, valid_from, valid_to, superseded_by, expires_at, terms, words, model, space, embedding, nr)
    ), known AS MATERIALIZED (
      SELECT g.nr, g.id, CASE WHEN g.valid_to IS NULL THEN (SELECT o.id FROM weft.mem_fact o WHERE o.scope = v_scope AND o.kind = g.kind
        AND o.said = g.said AND (o.trust >= 2) = (g.trust >= 2) AND o.valid_to IS NULL) END AS there
      FROM given g
    ), first AS MATERIALIZED (
      SELECT g.nr, k.there, coalesce(k.there, CASE WHEN g.valid_to IS NULL
        THEN first_value(g.id) OVER (PARTITION BY g.kind, g.said, g.trust >= 2, g.valid_to IS NULL, k.there IS NULL ORDER BY g.nr) ELSE g.id END) AS id
      FROM given g JOIN known k USING (nr)
    ), stored AS (
      INSERT INTO weft.mem_fact (scope, id, kind, content, said, raw, metadata, conversation, turn, trust, importance, valid_from, valid_to,
        superseded_by, expires_at, created_at, updated_at, version, terms, words, word_count, model, space, embedding)
      SELECT v_scope, g.id, g.kind, g.content, g.said, g.raw, g.metadata::jsonb, g.conversation, g.turn, g.trust, g.importance,
        coalesce(g.valid_from, v_now), g.valid_to, g.superseded_by, g.expires_at, v_now, v_now, 1,
        g.terms::text[], g.words::bigint[], cardinality(g.terms::text[]), g.model, g.space, g.embedding::vector
      FROM given g JOIN first USING (nr) WHERE first.there IS NULL AND first.id = g.id ORDER BY g.nr
    ), noted AS (
      INSERT INTO weft.mem_event (scope, fact, at, kind, was, became, actor)
      SELECT v_scope, g.id, v_now, 'add', '', g.content, g.actor FROM given g JOIN first USING (nr)
      WHERE first.there IS NULL AND first.id = g.id ORDER BY g.nr
    )
    SELECT first.id::text, first.there IS NOT NULL OR first.id <> g.id, '', 0, '' FROM given g JOIN first USING (nr) ORDER BY g.nr;
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
      SELECT o.key, o.version, o.kind, o.valid_to, o.content INTO f FROM weft.mem_fact o WHERE o.scope = v_scope AND o.id = r.id;
      IF NOT FOUND THEN
        RAISE SQLSTATE 'WM000' USING MESSAGE = 'missing', DETAIL = r.nr - 1, HINT = r.id;
      ELSIF r.version <> 0 AND r.version <> f.version THEN
        RAISE SQLSTATE 'WM000' USING MESSAGE = 'version', DETAIL = r.nr - 1, HINT = f.version;
      END IF;
    END IF;
    CASE r.does
    WHEN 'delete' THEN
      PERFORM weft.mem_drop(f.key, r.actor, v_now);
    WHEN 'close' THEN
      PERFORM weft.mem_close(f.key, coalesce(r.valid_to, v_now), '', r.actor, v_now);
    WHEN 'embed' THEN
      UPDATE weft.mem_fact SET terms = r.terms::text[], words = r.words::bigint[], word_count = cardinality(r.terms::text[]),
        model = r.model, space = r.space, embedding = r.embedding::vector WHERE key = f.key;
    WHEN 'update' THEN
      SELECT o.id INTO v_same_id FROM weft.mem_fact o WHERE o.scope = v_scope AND o.kind = f.kind AND o.said = r.said
      AND (o.trust >= 2) = (r.trust >= 2) AND o.valid_to IS NULL AND o.key <> f.key;
      IF FOUND AND f.valid_to IS NULL THEN
        RAISE SQLSTATE 'WM000' USING MESSAGE = 'said', DETAIL = r.nr - 1, HINT = v_same_id;
      END IF;
      UPDATE weft.mem_fact SET content = r.content, said = r.said, raw = r.raw, metadata = r.metadata::jsonb, importance = r.importance,
        trust = r.trust, expires_at = r.expires_at, updated_at = v_now, version = f.version + 1, terms = r.terms::text[],
        words = r.words::bigint[], word_count = cardinality(r.terms::text[]), model = r.model, space = r.space,
        embedding = r.embedding::vector WHERE key = f.key;
      INSERT INTO weft.mem_event (scope, fact, at, kind, was, became, actor)
      VALUES (v_scope, r.id, v_now, 'update', f.content, r.content, r.actor);
    ELSE
      SELECT o.key, o.expires_at, o.valid_to, o.kind = r.kind AND o.said = r.said AND (o.trust >= 2) = (r.trust >= 2) AS same
        INTO f FROM weft.mem_fact o WHERE o.scope = v_scope AND o.id = r.id;
      IF f.expires_at <= v_now THEN -- it goes, as if it had been swept
        PERFORM weft.mem_drop(f.key, 'expired', v_now);
        f.key := NULL;
      END IF;
      IF NOT f.same AND f.key IS NOT NULL THEN
        RAISE SQLSTATE 'WM000' USING MESSAGE = 'taken', DETAIL = r.nr - 1, HINT = r.id;
      ELSIF f.key IS NOT NULL THEN
        IF f.valid_to IS NULL AND r.valid_to IS NULL THEN
          PERFORM weft.mem_extend(f.key, coalesce(r.valid_from, v_now), r.expires_at, r.actor, v_now);
        END IF;
      ELSE
        SELECT o.key, o.id, o.expires_at INTO f FROM weft.mem_fact o WHERE o.scope = v_scope AND o.kind = r.kind AND o.said = r.said
        AND (o.trust >= 2) = (r.trust >= 2) AND o.valid_to IS NULL;
        v_same := f.key;
        v_same_id := f.id;
        IF f.expires_at <= v_now THEN
          PERFORM weft.mem_drop(v_same, 'expired', v_now);
          v_same := NULL;
          v_same_id := NULL;
        END IF;
        IF v_same_id IS NOT NULL AND r.valid_to IS NULL THEN
          o_id := v_same_id;
        END IF;
        FOREACH v_other IN ARRAY string_to_array(r.instead, ',') LOOP
          CONTINUE WHEN v_other::uuid = v_same_id;
          SELECT o.key, o.valid_to INTO f FROM weft.mem_fact o WHERE o.scope = v_scope AND o.id = v_other::uuid;
          IF NOT FOUND THEN
            RAISE SQLSTATE 'WM000' USING MESSAGE = 'missing', DETAIL = r.nr - 1, HINT = v_other;
          ELSIF f.valid_to IS NOT NULL THEN
            RAISE SQLSTATE 'WM000' USING MESSAGE = 'closed', DETAIL = r.nr - 1, HINT = v_other;
          END IF;
          PERFORM weft.mem_close(f.key, coalesce(r.valid_from, v_now), o_id, o_id, v_now);
        END LOOP;
        IF v_same_id IS NOT NULL AND r.valid_to IS NULL THEN
          PERFORM weft.mem_extend(v_same, coalesce(r.valid_from, v_now), r.expires_at, r.actor, v_now);
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
    SELECT count(*) INTO v_key FROM (SELECT FROM weft.mem_fact o WHERE o.scope = v_scope AND o.valid_to IS NULL LIMIT p_most + 1) c;
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

-- mem_forget removes everything of the scopes that a scope covers, with the turns that wait to be
-- learned: parts that are empty cover all. It waits for those who store in them, and keeps others from doing so.
CREATE OR REPLACE FUNCTION weft.mem_forget(p_shared bigint[], p_alone bigint, p_digest bytea, p_owner bytea, p_names text[]) RETURNS bigint
LANGUAGE plpgsql SET search_path = '' AS $fn$
DECLARE
  v_scopes bigint[];
  v_now timestamptz;
  v_count bigint;
BEGIN
  PERFORM pg_advisory_xact_lock_shared(k) FROM unnest(p_shared) AS k;
  PERFORM pg_advisory_xact_lock(p_alone);
  SELECT array_agg(c.key), greatest(clock_timestamp(), max(c.newest) + interval '1 microsecond') INTO v_scopes, v_now
  FROM (SELECT s.key, s.newest FROM weft.mem_scope s WHERE s.tenant = p_names[1] AND p_names[2] IN ('', s.workspace)
    AND p_names[3] IN ('', s.user_id) AND p_names[4] IN ('', s.agent) ORDER BY s.key FOR UPDATE) c;
  INSERT INTO weft.mem_forgotten AS t (scope, owner, at) VALUES (p_digest, p_owner, v_now)
  ON CONFLICT (scope, owner) DO UPDATE SET at = greatest(t.at, excluded.at);
  DELETE FROM weft.mem_fact WHERE scope = ANY (v_scopes);
  GET DIAGNOSTICS v_count = ROW_COUNT;
  DELETE FROM weft.mem_event WHERE scope = ANY (v_scopes);
  DELETE FROM weft.mem_job WHERE scope = ANY (v_scopes);
  DELETE FROM weft.mem_turn WHERE scope = ANY (v_scopes);
  DELETE FROM weft.mem_scope WHERE key = ANY (v_scopes);
  RETURN v_count;
END
$fn$;

-- mem_sweep removes facts that have expired, and passes over scopes that others work on.
CREATE OR REPLACE FUNCTION weft.mem_sweep(p_limit bigint) RETURNS bigint
LANGUAGE plpgsql SET search_path = '' AS $fn$
DECLARE
  v_count bigint := 0;
  v_now timestamptz;
  s record;
  f record;
BEGIN
  FOR s IN SELECT o.key, o.newest FROM weft.mem_scope o WHERE o.key = ANY (ARRAY(SELECT DISTINCT d.scope FROM (
    SELECT e.scope FROM weft.mem_fact e WHERE e.expires_at <= clock_timestamp() ORDER BY e.expires_at LIMIT p_limit) d))
    FOR UPDATE SKIP LOCKED
  LOOP
    v_now := greatest(clock_timestamp(), s.newest + interval '1 microsecond');
    FOR f IN SELECT e.key FROM weft.mem_fact e WHERE e.scope = s.key AND e.expires_at <= v_now ORDER BY e.expires_at LIMIT p_limit - v_count LOOP
      PERFORM weft.mem_drop(f.key, 'expired', v_now);
      v_count := v_count + 1;
    END LOOP;
    UPDATE weft.mem_scope SET newest = v_now WHERE key = s.key;
    EXIT WHEN v_count >= p_limit;
  END LOOP;
  RETURN v_count;
END
$fn$;
