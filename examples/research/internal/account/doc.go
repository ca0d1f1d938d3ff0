// Package account keeps the data of users: proposals, the sessions of research about them, and their threads. A
// [Backend] is a folder of SQLite files, a PostgreSQL database, or a Supabase project, whose policies keep the data
// of users apart.
package account
