// Package csvdb imports a CSV file of a user into a SQLite database, and answers
// questions about it in SQL.
//
//	schema, err := csvdb.Import(ctx, "sales.csv", "sales.db")
//	db, err := csvdb.Open(ctx, "sales.db")
//	table, err := db.Select(ctx, csvdb.Selection{Columns: []string{"city"}, Limit: 10})
//
// What to know:
//
//   - [Import] reads a file three times and does not hold it in memory, so the file may
//     be larger than the memory. Import detects the delimiter, the encoding (UTF-8,
//     UTF-16, or Windows-1252, which includes Latin-1), the header, and the types of
//     the columns. [Schema.Notes] describes irregularities.
//   - The database appears when it is complete. A process that is killed leaves no
//     partial database under its name.
//   - [Open] opens the database read-only, and no statement can attach another one.
//     Names of columns are checked against the schema, and values are parameters, so
//     no text of a caller becomes SQL.
package csvdb
