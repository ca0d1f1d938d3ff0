UPDATE auth.users SET raw_app_meta_data = raw_app_meta_data || '{"tenants": ["acme"]}' WHERE id = $1;
