package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
)

// listPage is the number of threads on a page.
const listPage = 50

// list measures pages of the lists of threads that wait or have failed.
func (p *place) list(ctx context.Context, store *pgcheckpoint.Store, s settings) error {
	fmt.Printf("| list | page | threads in the list | p50 | p99 |\n| --- | --- | --: | --: | --: |\n")
	for _, status := range []checkpoint.Status{checkpoint.Paused, checkpoint.Failed} {
		for _, byNode := range []bool{false, true} {
			for _, deep := range []bool{false, true} {
				if err := p.listPages(ctx, store, s, listing{status, byNode, deep}); err != nil {
					return err
				}
			}
		}
	}
	fmt.Println()
	return nil
}

// A listing is a kind of page.
type listing struct {
	status       checkpoint.Status
	byNode, deep bool
}

// query returns a page: the first one, or one that begins after a random thread.
func (l listing) query(threads int) checkpoint.StatusQuery {
	q := checkpoint.StatusQuery{Status: l.status, Limit: listPage}
	name := "review"
	if l.status == checkpoint.Failed {
		name = "mail"
	}
	node := fmt.Sprint(name, rand.IntN(nodes))
	if l.byNode {
		q.Node = node
	}
	if l.deep {
		hex := fmt.Sprintf("%012x", rand.IntN(threads))
		q.After = checkpoint.ThreadStatus{Node: node, Thread: hex[:8] + "-" + hex[8:]}
	}
	return q
}

func (p *place) listPages(ctx context.Context, store *pgcheckpoint.Store, s settings, l listing) error {
	var taken times
	for range s.queries {
		begin, n := time.Now(), 0
		for _, err := range store.ListStatus(ctx, l.query(s.threads)) {
			if err != nil {
				return err
			}
			n++
		}
		if n == 0 && !l.deep {
			return fmt.Errorf("the list %+v is empty", l)
		}
		taken = append(taken, time.Since(begin))
	}
	what, page, count := fmt.Sprint("status ", l.status), "first", s.threads*8/100
	if l.status == checkpoint.Failed {
		count = s.threads * 2 / 100
	}
	if l.byNode {
		what, count = what+" and node", count/nodes
	}
	if l.deep {
		page = "deep"
	}
	fmt.Printf("| %s | %s | %d | %s | %s |\n", what, page, count, milliseconds(taken.percentile(50)), milliseconds(taken.percentile(99)))
	return nil
}
