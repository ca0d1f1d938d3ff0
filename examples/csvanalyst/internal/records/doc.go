// Package records keeps the sessions of the program, with what was said in them
// and which files belong to them: the tables session, message and resource, in
// SQLite or in PostgreSQL.
package records
