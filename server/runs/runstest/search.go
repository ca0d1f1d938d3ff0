package runstest

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/weft-go/weft/server/runs"
)

// people returns the records for the cases of searches.
func people() []runs.Record {
	at := func(n int) time.Time { return start.Add(time.Duration(n) * time.Microsecond) }
	return []runs.Record{
		{Kind: runs.Thread, ID: "a", Parent: "p", Owner: "ann", Graph: "g1", Name: "Über alles", Status: "idle", Created: at(1), Updated: at(9), Expires: at(5), Metadata: json.RawMessage(`{"n":1,"tags":["x","y"],"o":{"k":"v","l":[1,{"m":2}]}}`)},
		{Kind: runs.Thread, ID: "b", Parent: "p", Owner: "bob", Graph: "g1", Name: "under_100%", Status: "busy", Created: at(1), Updated: at(8), Expires: at(6), Metadata: json.RawMessage(`{"n":1.0,"tags":["y"],"o":{}}`)},
		{Kind: runs.Thread, ID: "c", Parent: "q", Owner: "ann", Graph: "g2", Name: "", Status: "idle", Created: at(0), Updated: at(9)},
		{Kind: runs.Thread, ID: "d", Parent: "q", Owner: "", Graph: "g2", Name: "Under", Status: "error", Created: at(2), Updated: at(7), Metadata: json.RawMessage(`{"n":"1","nul":"\u0000","tags":"x"}`)},
		{Kind: runs.Run, ID: "e", Owner: "ann", Created: at(0), Updated: at(0)},
	}
}

var searchCases = []testCase{
	{"search/fields", "Search selects by each field, and by all of them at once.", func(f *fixture) {
		f.insert(people()...)
		ann := runs.Filter{Owner: new("ann")}
		for _, c := range []struct {
			q    runs.Query
			want string
		}{
			{runs.Query{}, "abcd"},
			{runs.Query{IDs: []string{"d", "a", "d", "x", "e"}}, "ad"},
			{runs.Query{IDs: []string{}}, ""},
			{runs.Query{Parent: "q"}, "cd"},
			{runs.Query{Filter: ann}, "ac"},
			{runs.Query{Filter: runs.Filter{Owner: new("")}}, "d"},
			{runs.Query{Owner: new("ann")}, "ac"},
			{runs.Query{Owner: new(""), Filter: runs.Filter{IDs: []string{"a"}}}, "d"},
			{runs.Query{Owner: new("bob"), Filter: ann}, ""},
			{runs.Query{Owner: new("a\x00")}, ""},
			{runs.Query{Graph: "g1"}, "ab"},
			{runs.Query{Name: "UNDER"}, "bd"},
			{runs.Query{Name: "über"}, "a"},
			{runs.Query{Name: "0%"}, "b"},
			{runs.Query{Name: "r_1"}, "b"},
			{runs.Query{Name: "%"}, "b"},
			{runs.Query{Statuses: []string{"busy", "error"}}, "bd"},
			{runs.Query{Statuses: []string{"none"}}, ""},
			{runs.Query{Expired: start.Add(5 * time.Microsecond)}, "a"},
			{runs.Query{Expired: start.Add(time.Hour)}, "ab"},
			{runs.Query{Parent: "p", Filter: ann, Graph: "g1", Name: "all", Statuses: []string{"idle"}, Metadata: json.RawMessage(`{"n":1}`)}, "a"},
			{runs.Query{Parent: "p", Filter: ann, Graph: "g2"}, ""},
		} {
			c.q.Kind, c.q.Order = runs.Thread, runs.ByID
			equal(f, fmt.Sprintf("%+v", c.q), fmt.Sprint(f.ids(c.q, len(c.want))), fmt.Sprint(letters(c.want)))
		}
	}},
	{"search/metadata", "Search by metadata selects the records whose metadata contains the object.", func(f *fixture) {
		f.insert(people()...)
		for query, want := range map[string]string{
			``: "abcd", `{}`: "abcd", `{"n":1}`: "ab", `{"n":1.00}`: "ab", `{"n":10e-1}`: "ab", `{"n":"1"}`: "d", `{"n":2}`: "", `{"n":null}`: "",
			`{"tags":["y"]}`: "ab", `{"tags":["y","x"]}`: "a", `{"tags":["y","y"]}`: "ab", `{"tags":[]}`: "ab", `{"tags":"x"}`: "d", `{"tags":{}}`: "",
			`{"o":{}}`: "ab", `{"o":{"k":"v"}}`: "a", `{"o":{"l":[{"m":2}]}}`: "a", `{"o":{"l":[{"m":2},1]}}`: "a", `{"o":{"l":1}}`: "", `{"o":[]}`: "",
			`{"nul":"\u0000"}`: "d", `{"nul":""}`: "", `{"missing":{}}`: "",
		} {
			q := runs.Query{Kind: runs.Thread, Order: runs.ByID, Metadata: json.RawMessage(query)}
			equal(f, "metadata "+query, f.ids(q, len(want)), letters(want))
		}
	}},
	{"search/filter", "A filter selects records by their owner and metadata, and those with its ids besides.", func(f *fixture) {
		f.insert(people()...)
		filter := func(owner, metadata string, ids ...string) runs.Filter {
			out := runs.Filter{Metadata: json.RawMessage(metadata), IDs: ids}
			if owner != "any" {
				out.Owner = &owner
			}
			return out
		}
		for _, c := range []struct {
			filter   runs.Filter
			metadata string // the metadata of the query
			want     string
		}{
			{filter("any", ``), ``, "abcd"},
			{filter("any", `{}`, "a"), ``, "abcd"},
			{filter("ann", ``), ``, "ac"},
			{filter("ann", ``, "b", "none"), ``, "abc"},
			{filter("ann", ``, "b"), `{"n":1}`, "ab"},
			{filter("ann", `{"tags":["x"]}`), ``, "a"},
			{filter("ann", `{"tags":["x"]}`), `{"tags":["y"]}`, "a"},
			{filter("ann", `{"tags":["x"]}`, "d"), ``, "ad"},
			{filter("any", `{"tags":["y"]}`), ``, "ab"},
			{filter("any", `{"tags":["y"]}`, "d"), ``, "abd"},
			{filter("any", `{"tags":["y"]}`, "d"), `{"n":"1"}`, "d"},
			{filter("any", `{"missing":1}`), ``, ""},
			{filter("bob", `{"tags":["x"]}`), ``, ""},
			{filter("a\x00", ``), ``, ""},
			{filter("a\x00", ``, "b", "b\x00"), ``, "b"},
		} {
			q := runs.Query{Kind: runs.Thread, Order: runs.ByID, Filter: c.filter, Metadata: json.RawMessage(c.metadata)}
			equal(f, fmt.Sprintf("%+v", q), f.ids(q, len(c.want)), letters(c.want))
			for limit := 1; limit <= len(c.want); limit++ {
				q.Limit, q.Offset = limit, len(c.want)-limit
				equal(f, fmt.Sprintf("a page of %+v", q), f.ids(q, len(c.want)), letters(c.want[q.Offset:]))
			}
		}
	}},
	{"search/filter of runs", "A filter selects the runs of the threads that it selects.", func(f *fixture) {
		f.insert(people()...)
		for i, thread := range []string{"a", "b", "c", "d", "none"} { // the owners of the runs do not matter
			f.insert(runs.Record{Kind: runs.Run, ID: string(rune('v' + i)), Parent: thread, Owner: "bob", Metadata: json.RawMessage(`{"m":` + fmt.Sprint(i%2) + `}`)})
		}
		for _, c := range []struct {
			q    runs.Query
			want string
		}{
			{runs.Query{}, "evwxyz"},
			{runs.Query{Owner: new("bob")}, "vwxyz"},
			{runs.Query{Owner: new("ann")}, "e"},
			{runs.Query{Owner: new("bob"), Filter: runs.Filter{Owner: new("ann")}}, "vx"},
			{runs.Query{Filter: runs.Filter{Owner: new("ann")}}, "vx"},
			{runs.Query{Filter: runs.Filter{Owner: new("ann")}, Parent: "c"}, "x"},
			{runs.Query{Filter: runs.Filter{Owner: new("ann")}, Metadata: json.RawMessage(`{"m":1}`)}, ""},
			{runs.Query{Filter: runs.Filter{Owner: new("ann"), IDs: []string{"b"}}}, "vwx"},
			{runs.Query{Filter: runs.Filter{Metadata: json.RawMessage(`{"tags":["y"]}`)}}, "vw"},
			{runs.Query{Filter: runs.Filter{Metadata: json.RawMessage(`{"tags":["y"]}`)}, Metadata: json.RawMessage(`{"m":1}`)}, "w"},
			{runs.Query{Filter: runs.Filter{Owner: new("ann"), Metadata: json.RawMessage(`{"tags":["y"]}`), IDs: []string{"d"}}}, "vy"},
			{runs.Query{Filter: runs.Filter{Owner: new("nobody")}}, ""},
		} {
			c.q.Kind, c.q.Order = runs.Run, runs.ByID
			equal(f, fmt.Sprintf("%+v", c.q), f.ids(c.q, len(c.want)), letters(c.want))
		}
	}},
	{"search/orders", "Records are sorted by each field, and equal ones by id; Reverse reverses the order.", func(f *fixture) {
		f.insert(people()...)
		for order, want := range map[runs.Order]string{
			"": "cabd", runs.ByCreated: "cabd", runs.ByUpdated: "dbac", runs.ByID: "abcd", runs.ByName: "cdba", runs.ByStatus: "bdac", runs.ByGraph: "abcd",
		} {
			equal(f, "by "+string(order), f.ids(runs.Query{Kind: runs.Thread, Order: order}, 4), letters(want))
			backwards := letters(want)
			slices.Reverse(backwards)
			equal(f, "by "+string(order)+", reversed", f.ids(runs.Query{Kind: runs.Thread, Order: order, Reverse: true}, 4), backwards)
		}
	}},
	{"search/expired", "Expired records are sorted by the time at which they expire, also without a total.", func(f *fixture) {
		f.insert(people()...)
		q := runs.Query{Kind: runs.Thread, Expired: start.Add(time.Hour), Order: runs.ByExpires, Reverse: true, Limit: 1}
		equal(f, "the last one", f.ids(q, 2), []string{"b"})
		q.Uncounted, q.Reverse = true, false
		for offset, want := range []string{"a", "b"} {
			q.Offset = offset
			found, total, err := f.store.Search(f.ctx, q)
			if err != nil || len(found) != 1 || found[0].ID != want || total < 1 {
				f.Errorf("without a total: got %+v, %d, %v want %s", found, total, err, want)
			}
		}
	}},
	{"search/pages", "Limit and Offset select a page; the total counts all pages.", func(f *fixture) {
		f.insert(people()...)
		for _, meta := range []string{``, `{"n":1}`} { // stores may count in another way
			all, total := "abcd", 4
			if meta != "" {
				all, total = "ab", 2
			}
			for offset := range 6 {
				for limit := range 6 {
					want := all[min(offset, total):]
					if limit > 0 {
						want = want[:min(limit, len(want))]
					}
					q := runs.Query{Kind: runs.Thread, Order: runs.ByID, Offset: offset, Limit: limit, Metadata: json.RawMessage(meta)}
					equal(f, fmt.Sprintf("%d from %d of %s", limit, offset, meta), f.ids(q, total), letters(want))
				}
			}
		}
	}},
	{"search/whole records", "Search returns whole records.", func(f *fixture) {
		r := record(runs.Assistant, "x")
		f.insert(r)
		for _, q := range []runs.Query{{}, {Metadata: json.RawMessage(`{"a":1.5}`)}, {Name: "name", Limit: 1}} {
			q.Kind = runs.Assistant
			found, _, err := f.store.Search(f.ctx, q)
			f.must(err)
			if len(found) != 1 {
				f.Fatalf("got %d records, want 1", len(found))
			}
			f.wantRecord(found[0], r, 1)
		}
	}},
}

// letters splits a text into its letters.
func letters(text string) []string {
	out := []string{}
	for _, r := range text {
		out = append(out, string(r))
	}
	return out
}
