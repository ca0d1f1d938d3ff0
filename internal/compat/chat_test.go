package compat_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/weft-go/weft/state"
)

// at returns a time for a turn. The time zone is different in odd and even turns.
func at(turn int) time.Time {
	when := epoch.Add(time.Duration(turn) * 90 * time.Minute)
	if turn%2 == 1 {
		return when.In(elsewhere)
	}
	return when
}

// turnOf returns the number of the current turn, since each turn adds 3 tokens.
func turnOf(s state.View) int { return tokens.Get(s) / 3 }

func hear(_ context.Context, s state.View) (state.Update, error) {
	n := turnOf(s)
	p := person{ID: fmt.Sprint("p", n%13), Name: fmt.Sprintf("Person %d <&> \u2028 ä", n), Joined: at(n)}
	if n%3 == 0 {
		left := at(n + 1)
		p.Left, p.Tags = &left, []string{"left", "early"}
	}
	u := state.Update{people.Put(p), tokens.Put(1, 2), cost.Put(0.125), flash.Put(fmt.Sprint("turn ", n))}
	if n%5 == 4 {
		u = append(u, people.Remove(fmt.Sprint("p", (n-2)%13), "nobody"))
	}
	switch n % 4 {
	case 0:
		u = append(u, topic.Put(nil))
	case 1:
		name := fmt.Sprint("topic ", n)
		u = append(u, topic.Put(&name))
	}
	return u, nil
}

func think(_ context.Context, s state.View) (state.Update, error) {
	n := turnOf(s)
	words := make([]string, 0, 80)
	for i := range 80 {
		words = append(words, wordsOfTheDraft[(i*i+n*7)%len(wordsOfTheDraft)])
	}
	d := draft{Body: strings.Join(words, " "), Revision: 1<<63 + uint64(n)}
	if old, ok := current.Lookup(s); ok && n%2 == 0 {
		d.Labels, d.Previous = map[string]string{"turn": fmt.Sprint(n)}, &draft{Body: old.Body[:20], Revision: old.Revision}
	}
	return state.Update{
		mood.Put("thought"), current.Put(d), seen.Put(words[0], words[1]),
		facts.Put(map[string]fact{fmt.Sprint("fact ", n%6): {Text: words[2], Since: at(n), Weight: float64(n%3) / 4}}),
	}, nil
}

func reply(_ context.Context, s state.View) (state.Update, error) {
	n := turnOf(s)
	u := state.Update{messages.Put(fmt.Sprintf("reply %d: %s", n, mood.Get(s))), peak.Put((n * 7) % 50), tags.Put(fmt.Sprint("tag ", n%8), "always")}
	switch n % 10 {
	case 3:
		u = append(u, facts.Remove("fact 1", "fact 99"), tags.Remove("tag 2"))
	case 6:
		list := messages.Get(s)
		u = append(u, messages.Overwrite(list[max(0, len(list)-3):]), limit.Put(n))
	case 8:
		u = append(u, tags.Clear(), tags.Put("again"), cost.Overwrite(1.5), seen.Overwrite(map[string]int{"start": n}))
	case 9:
		u = append(u, facts.Overwrite(map[string]fact{"only": {Text: "new", Since: at(n)}}))
	}
	return u, nil
}
