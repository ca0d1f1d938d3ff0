// Package pgmemory stores a memory in PostgreSQL, with pgvector. A [DB] is a [driver.Backend].
//
//	db, err := pgmemory.Open(ctx, os.Getenv("DATABASE_URL"), pgmemory.Options{})
//	if err != nil {
//		return err
//	}
//	defer db.Close()
//	m, err := memory.New(db, memory.Options{Embedder: embedder})
//
// Properties:
//
//   - Each write is atomic. If the connection is lost during a write, the write may or may not have been
//     made, and the error is [ErrUnreachable]. Facts of a job and messages with an ID can be written again
//     safely.
//   - Most calls take one statement and one round trip; a list takes one for each page. A search ranks
//     by words and by vectors, and counts, in one statement. More than 64 new chunks are stored with COPY.
//   - Vectors are compared exactly, which is fast for scopes of up to about 20,000 facts or chunks. For
//     larger scopes, create an index with [DB.Index]. If the index returns too few rows, all vectors are
//     compared.
//   - Vectors of several models and dimensions can be stored together. Each model and dimension has its
//     own index.
//   - It works with transaction poolers, such as PgBouncer and Supavisor, and in every query
//     execution mode of pgx. [PoolConfig] returns a suitable pool configuration.
//   - pgvector may be installed in any schema, even one that is not in the search path.
//   - With row-level security, [Options.Before] and [Bind] give each call the rights of a user. Lists and
//     counts then have only the rows that the user can see.
package pgmemory
