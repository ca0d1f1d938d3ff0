SELECT cron.schedule('weft: completed threads', '17 3 * * *',
  $$SELECT weft.cp_session_clean(NULL, '', ARRAY['completed'], extract(epoch FROM interval '30 days'), 1000)$$);
