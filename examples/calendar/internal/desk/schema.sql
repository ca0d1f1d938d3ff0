CREATE TABLE IF NOT EXISTS mail (
	id INTEGER PRIMARY KEY AUTOINCREMENT, folder TEXT NOT NULL, sender TEXT NOT NULL, recipients TEXT NOT NULL,
	subject TEXT NOT NULL, body TEXT NOT NULL, at TEXT NOT NULL, unread INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS tasks (
	id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL, due TEXT NOT NULL DEFAULT '', done TEXT NOT NULL DEFAULT ''
);
-- The answers of tool calls, and whether their changes were made, so that no change is made twice.
CREATE TABLE IF NOT EXISTS effects (key TEXT PRIMARY KEY, answer TEXT NOT NULL, done INTEGER NOT NULL);
