// Package account keeps what belongs to a user: proposals, the sessions of research
// about them, and their threads. A [Backend] is a file, a PostgreSQL database, or a
// Supabase project, where the policies of the database hold users apart.
package account
