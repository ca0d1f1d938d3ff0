// Package files stores the uploads of users: the CSV files and images of a session, and a database for each CSV
// file.
package files
