INSERT INTO user_quota (user_id, max_facts) VALUES ('', 1000) ON CONFLICT (user_id) DO UPDATE SET max_facts = excluded.max_facts;
