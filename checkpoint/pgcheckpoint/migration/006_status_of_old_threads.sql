-- Fills cp_open for the threads that paused or failed under an older version. The numbers -1, -2 and
-- -4 are those of questions, failures and static pauses. It locks these threads only: a run that
-- resumes one of them waits. A failure of a task hides its question. Two kinds of threads get a wrong status until their next
-- checkpoint: a task that asked and then ended still counts, and a static pause counts only
-- if its value is not compressed.
WITH mark AS (
  SELECT t.key, w.task, w.number, t.tenant, t.id, t.at, w.data
  FROM weft.cp_thread t JOIN weft.cp_write w ON w.thread = t.key
  WHERE w.number IN (-1, -2, -4)
  AND w.seq = (SELECT max(s.seq) FROM weft.cp_step s WHERE s.thread = t.key AND s.space = 0)
  AND (t.head IS NULL OR t.newest = w.seq)
  AND NOT (w.number = -1 AND EXISTS (SELECT FROM weft.cp_write f
    WHERE f.thread = w.thread AND f.seq = w.seq AND f.task = w.task AND f.number = -2))
  FOR NO KEY UPDATE OF t
), named AS (
  SELECT mark.*, n.node FROM mark CROSS JOIN LATERAL (
    SELECT regexp_replace(mark.task, '[[~].*', '') AS node WHERE mark.number > -4
    UNION
    SELECT convert_from(decode(m[1], 'escape'), 'UTF8')
    FROM regexp_matches(encode(mark.data, 'escape'), '"node":"([^"]+)"', 'g') AS m WHERE mark.number = -4) AS n
), added AS (
  INSERT INTO weft.cp_open (thread, task, number, node, status, tenant, id, time)
  SELECT key, task, number, node, CASE number WHEN -2 THEN 'failed' ELSE 'paused' END, tenant, id, coalesce(at, now())
  FROM named WHERE octet_length(node) + octet_length(id) + octet_length(tenant) < 2500
  ON CONFLICT DO NOTHING RETURNING thread
)
UPDATE weft.cp_thread SET open = true WHERE key IN (SELECT thread FROM added) AND NOT open;
