// Package files keeps what users upload: the CSV files and images of a session, and
// of each CSV file a database.
package files
