package profile_test

import (
	"context"
	"fmt"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/inmemory"
	"github.com/weft-go/weft/memory/profile"
)

func newProfiles() *profile.Profiles {
	profiles, err := profile.New(inmemory.NewValues(inmemory.Options{}))
	if err != nil {
		panic(err)
	}
	return profiles
}

func Example() {
	ctx := context.Background()
	profiles := newProfiles()
	ann := memory.Scope{User: "ann"}
	_, err := profiles.SetContext(ctx, ann, profile.Context{
		Plan:        "pro",
		Usage:       []byte(`{"requests":120,"limit":1000}`),
		Preferences: profile.Text("short answers, metric units"),
	})
	if err != nil {
		panic(err)
	}
	for _, user := range []string{"ann", "bob"} {
		summary, err := profiles.Summary(ctx, memory.Scope{User: user})
		if err != nil {
			panic(err)
		}
		fmt.Println(summary)
	}
	// Output:
	// Plan: pro
	// Usage: limit: 1000; requests: 120
	// Preferences: short answers, metric units
	// Nothing is known about the plan, usage or preferences of this user.
}

func ExampleProfiles_Patch() {
	ctx := context.Background()
	profiles := newProfiles()
	ann := memory.Scope{User: "ann"}
	for _, patch := range []string{
		`{"name":"Ann","home":{"city":"Athens","since":2019}}`,
		`{"home":{"city":"Oslo"},"pets":["Rex"]}`,
		`{"home":{"since":null}}`,
	} {
		d, err := profiles.Patch(ctx, ann, "person", []byte(patch), 0)
		if err != nil {
			panic(err)
		}
		fmt.Println(string(d.Value))
	}
	// Output:
	// {"home":{"city":"Athens","since":2019},"name":"Ann"}
	// {"home":{"city":"Oslo","since":2019},"name":"Ann","pets":["Rex"]}
	// {"home":{"city":"Oslo"},"name":"Ann","pets":["Rex"]}
}

func ExampleGet() {
	ctx := context.Background()
	profiles := newProfiles()
	ann := memory.Scope{User: "ann"}
	if _, err := profiles.Put(ctx, ann, profile.Document{Schema: "person", Value: []byte(`{"name":"Ann"}`)}); err != nil {
		panic(err)
	}
	type person struct {
		Name string `json:"name"`
	}
	p, _, err := profile.Get[person](ctx, profiles, ann, "person")
	fmt.Println(p.Name, err)
	// Output:
	// Ann <nil>
}

func ExampleMerge() {
	merged, err := profile.Merge([]byte(`{"a":{"b":1,"c":2}}`), []byte(`{"a":{"b":null},"d":[3]}`))
	fmt.Println(string(merged), err)
	// Output:
	// {"a":{"c":2},"d":[3]} <nil>
}
