-- cp_load returns a checkpoint, its lineage and its pending writes, in any order. If
-- p_id is null, it returns the newest checkpoint of the namespace.
--
-- A lineage consists of one range of rows for each of its branches, from the root on. A
-- range ends with the parent of the first row of the next range. Ranges are followed
-- towards smaller numbers only, so the function returns even if a damaged row makes a
-- checkpoint its own ancestor. The reader detects that the lineage is not complete.
CREATE OR REPLACE FUNCTION weft.cp_load(p_tenant text, p_thread text, p_space text, p_id uuid) RETURNS SETOF weft.cp_part
LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET work_mem = '64MB' AS $$
#variable_conflict use_column
DECLARE
  v_thread bigint;
  v_space int;
  t record;
BEGIN
  SELECT key, weft.cp_space_key(key, p_space) INTO v_thread, v_space
  FROM weft.cp_thread WHERE tenant = p_tenant AND id = p_thread;
  IF p_id IS NOT NULL THEN
    SELECT seq, branch, root INTO t FROM weft.cp_step WHERE thread = v_thread AND id = p_id AND space = v_space;
  ELSIF v_space = 0 THEN
    SELECT seq, branch, root INTO t FROM weft.cp_step
    WHERE thread = v_thread AND space = 0 ORDER BY seq DESC LIMIT 1;
  ELSE
    SELECT seq, branch, root INTO t FROM weft.cp_step
    WHERE thread = v_thread AND space = v_space AND space <> 0 ORDER BY seq DESC LIMIT 1;
  END IF;
  IF NOT FOUND THEN RETURN; END IF;

  RETURN QUERY SELECT s.seq, s.id, s.name, s.source, s.whole, s.base, s.snapshot, s.changes,
    p.id, p.name, s.step, s.time, s.control, o.run, o.version, o.meta, o.digest, s.space, v.name,
    w.tasks, w.numbers, w.data
  FROM weft.cp_step s
  LEFT JOIN weft.cp_step p ON s.parent > 0 AND p.thread = v_thread AND p.seq = s.parent
  LEFT JOIN weft.cp_origin o ON o.thread = v_thread AND o.key = s.origin
  LEFT JOIN weft.cp_space v ON s.space > 0 AND v.thread = v_thread AND v.key = s.space
  CROSS JOIN LATERAL (SELECT array_agg(w.task) AS tasks, array_agg(w.number) AS numbers, array_agg(w.data) AS data
    FROM (SELECT task, number, data FROM weft.cp_write
      WHERE thread = v_thread AND seq = t.seq ORDER BY task, number) w) w
  WHERE s.thread = v_thread AND s.seq = t.seq;

  RETURN QUERY WITH RECURSIVE part (branch, last) AS (
    SELECT t.branch, t.seq
    UNION ALL
    SELECT p.branch, p.seq FROM part
    CROSS JOIN LATERAL (SELECT f.parent FROM weft.cp_step f WHERE f.thread = v_thread
      AND f.seq >= greatest(part.branch, t.root) AND f.branch = part.branch ORDER BY f.seq LIMIT 1) f
    JOIN weft.cp_step p ON p.thread = v_thread AND p.seq = f.parent
    WHERE f.parent >= t.root AND f.parent > 0 AND f.parent < part.last
  )
  SELECT s.seq, s.id, s.name, s.source, s.whole, s.base, s.snapshot,
    CASE WHEN s.snapshot IS NULL THEN s.changes END,
    NULL::uuid, NULL::text, NULL::bigint, NULL::timestamptz, NULL::bytea,
    NULL::text, NULL::text, NULL::jsonb, NULL::bytea, NULL::int, NULL::text,
    NULL::text[], NULL::bigint[], NULL::bytea[]
  FROM part JOIN weft.cp_step s ON s.thread = v_thread
    AND s.seq BETWEEN greatest(part.branch, t.root) AND part.last AND s.branch = part.branch AND s.seq <> t.seq;
END
$$;
