// Package pgmemory stores a memory in PostgreSQL, with pgvector. A [DB] is a [driver.Backend].
//
//	db, err := pgmemory.Open(ctx, os.Getenv("DATABASE_URL"), pgmemory.Options{})
//	if err != nil {
//		return err
//	}
//	defer db.Close()
//	m, err := memory.New(db, memory.Options{Embedder: embedder})
//
// What to know about it:
//
//   - A call is one statement and one round trip, and changes all or nothing. A search takes the best by
//     words and the nearest by vector, and counts, all at once. Many chunks of documents are copied, in
//     a transaction.
//   - Vectors are compared exactly, which is quick for scopes of up to some 20,000 facts, or chunks. Above,
//     make an index with [DB.Index]. It never makes a search find less: if the index
//     does not give enough, everything is compared.
//   - Vectors of any number of models and dimensions live side by side, each with an index of
//     its own.
//   - It works through transaction poolers, such as PgBouncer and Supavisor, and with every
//     way in which pgx sends statements. [PoolConfig] makes a pool that suits one.
//   - pgvector may be installed in any schema, also off the search path.
//   - [Options.Before] and [Bind] give each call the rights of a user, where row-level security keeps
//     users apart.
package pgmemory
