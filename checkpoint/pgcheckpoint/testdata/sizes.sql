SELECT relname, n_live_tup, pg_size_pretty(pg_total_relation_size(relid)) FROM pg_stat_user_tables
WHERE schemaname = 'weft' ORDER BY pg_total_relation_size(relid) DESC;
