// Package csvdb makes a database of a CSV file that a user has, and answers
// questions about it in SQL.
//
//	schema, err := csvdb.Import(ctx, "sales.csv", "sales.db")
//	db, err := csvdb.Open(ctx, "sales.db")
//	table, err := db.Select(ctx, csvdb.Selection{Columns: []string{"city"}, Limit: 10})
//
// What to know:
//
//   - A file is read as it comes, in three passes, so it may be larger than the
//     memory. Its delimiter, its encoding (UTF-8, UTF-16, Windows-1252, which has
//     Latin-1 in it), whether it has a header, and the types of its columns are
//     found out. What was odd about it is in [Schema.Notes].
//   - The database appears when it is complete: a process that is killed leaves
//     nothing that looks like one.
//   - It is opened read-only and can not attach others. Names of columns are
//     checked against the schema, values are parameters: nothing of what a caller
//     says becomes SQL.
package csvdb
