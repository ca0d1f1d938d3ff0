// Package records stores sessions, with their messages and the records of their files, in the tables session,
// message and resource of SQLite or PostgreSQL.
package records
