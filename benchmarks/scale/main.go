// Command scale measures a store of a million threads in PostgreSQL: its size, a migration, lists by
// status and node, and the deletion of half of the threads while new threads run. It
// prints the tables of docs/scale.md. DATABASE_URL names the server. The data takes about 4 KB a
// thread, in a schema that is dropped at the end.
package main

import (
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
)

// settings are the settings of the command line.
type settings struct {
	threads, runs, queries int
	undisturbed            time.Duration
	pruned                 int // threads of which the history is pruned
}

func main() {
	var s settings
	flag.IntVar(&s.threads, "threads", 1_000_000, "how many threads the store has")
	flag.IntVar(&s.runs, "runs", 100, "how many runs go on at once")
	flag.IntVar(&s.queries, "queries", 1000, "how many pages of each list are read")
	flag.DurationVar(&s.undisturbed, "undisturbed", time.Minute, "for how long the runs are measured alone")
	flag.IntVar(&s.pruned, "pruned", 5000, "of how many threads the history is pruned")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, s); err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

// A place has two schemas: one with many threads, and a template with the threads from which these are copied.
type place struct {
	pool             *pgxpool.Pool
	schema, template string
	started          time.Time
}

func run(ctx context.Context, s settings) (err error) {
	p, err := openPlace(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := p.close(); err == nil {
			err = cerr
		}
	}()
	if err := p.generate(ctx, s.threads); err != nil {
		return err
	}
	if err := p.migrate(ctx); err != nil {
		return err
	}
	if err := p.sizes(ctx, s.threads); err != nil {
		return err
	}
	store, err := pgcheckpoint.New(ctx, p.pool, pgcheckpoint.Options{Schema: p.schema})
	if err != nil {
		return err
	}
	if err := p.list(ctx, store, s); err != nil {
		return err
	}
	return p.prune(ctx, store, s)
}

// maxConns is the size of the pool: eight for each of two processors.
const maxConns = 16

func openPlace(ctx context.Context) (*place, error) {
	config, err := pgcheckpoint.PoolConfig(os.Getenv("DATABASE_URL"), pgcheckpoint.Detect)
	if err != nil {
		return nil, err
	}
	config.MaxConns = maxConns
	p := &place{started: time.Now(), schema: "weft_scale_" + strings.ToLower(rand.Text()[:8])}
	p.template = p.schema + "_template"
	if p.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, err
	}
	return p, p.pool.Ping(ctx)
}

// close drops the schemas, even after an interruption.
func (p *place) close() error {
	_, err := p.pool.Exec(context.Background(), `DROP SCHEMA IF EXISTS `+p.schema+` CASCADE; DROP SCHEMA IF EXISTS `+p.template+` CASCADE`,
		pgx.QueryExecModeSimpleProtocol)
	p.pool.Close()
	return err
}

// exec sends a statement. The schemas replace "weft." and "template." in its text.
func (p *place) exec(ctx context.Context, text string, args ...any) error {
	_, err := p.pool.Exec(ctx, p.sql(text), args...)
	return err
}

func (p *place) sql(text string) string {
	return strings.NewReplacer("weft.", p.schema+".", "template.", p.template+".").Replace(text)
}

// progress prints the current work and the time since the start.
func (p *place) progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%5.0f s: "+format+"\n", append([]any{time.Since(p.started).Seconds()}, args...)...)
}
